// Says how Kubernetes reads quantities, and how Go reads decimal numbers: one line for each text, with what it is,
// `refused`, or `large` where 63 bits do not hold it. See generate.sh.
package main

import (
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

var mantissas = []string{"0", "1", "5.", ".5", "0.1", "1.5", "007", "12.345678901", "999", "1024", "123456789012345678",
	"9223372036854775807", "9223372036854775808", "0.000000001", "0.0000000001", "+1", "-1", "", ".", "1.2.3", "1,5", "0x10", "１"}

var suffixes = []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e3", "E3", "e-3", "e+3", "e18", "e19", "e-18", "e", "E+", "e1.5", "K", "g", "mi", "KiB", "B", " ", "Gi ", "i"}

var decimals = []string{"0", "-0", "1", "+1", "0.1", "-0.1", ".5", "5.", "3e-4", "3E-4", "3e+4", "1e308", "1e309", "-1e309",
	"1e-307", "2.2250738585072014e-308", "1e-400", "1.7976931348623157e308", "0.30000000000000004", "123456789012345678901234567890",
	"9007199254740993", "", " 1", "1 ", "+", "-", "e5", "1e", "1e+", "0x1p3", "inf", "nan", "NaN", "Infinity", "1_000", "1,5", "--1", "1.2.3"}

func main() {
	for _, mantissa := range mantissas {
		for _, suffix := range suffixes {
			text := mantissa + suffix
			if quantity, err := resource.ParseQuantity(text); err != nil {
				fmt.Printf("quantity\t%s\trefused\n", text)
			} else if quantity.AsApproximateFloat64() > 9.2e18 {
				fmt.Printf("quantity\t%s\tlarge\n", text)
			} else {
				fmt.Printf("quantity\t%s\t%d\n", text, quantity.Value())
			}
		}
	}
	for _, text := range decimals {
		if value, err := strconv.ParseFloat(text, 64); err != nil {
			fmt.Printf("decimal\t%s\trefused\n", text)
		} else {
			fmt.Printf("decimal\t%s\t%016x\n", text, math.Float64bits(value))
		}
	}
}
