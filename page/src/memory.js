// Peak memory of a device, against what was predicted.
import {h, section, setText} from './dom.js';
import {bytes, bytesOf} from './format.js';

export class Memory {
  constructor() {
    this.meter = h('meter', {min: 0, 'aria-label': 'Peak memory of a device, against what was predicted'});
    this.text = h('p');
    this.element = section('Memory', this.meter, this.text);
  }

  draw({object}, samples) {
    const predicted = bytesOf(object.status?.predicted?.memoryPerDevice);
    const told = bytesOf(object.status?.progress?.peakMemoryPerDevice);
    const peak = Math.max(0, told || 0, ...samples.slice(-1).map((one) => Number(one.peakMemoryBytes ?? 0)));
    this.meter.hidden = !predicted || !peak;
    this.meter.max = Math.max(predicted || 1, peak);
    this.meter.value = peak;
    setText(this.text, `Peak ${peak ? bytes(peak) : 'unknown'}, predicted ${predicted ? bytes(predicted) : 'unknown'} per device`);
  }
}
