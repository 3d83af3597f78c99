// Questions to Prometheus, as Grafana's data source asks them, and the answers as Grafana's data frames.
import { DataFrame, FieldType, toDataFrame } from '@grafana/data';

export type Labels = Record<string, string>;
export type Variables = Record<string, string>;
// Seconds of Unix time.
export interface Range { from: number; to: number; step: number }
export interface Target { refId: string; expr: string; legendFormat?: string; instant?: boolean; format?: string }
interface Series { metric: Labels; values?: Array<[number, string]>; value?: [number, string] }

async function ask(path: string, parameters: Record<string, string | number>): Promise<any> {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  const answer = await fetch(`/prometheus/api/v1/${path}?${query}`);
  const body = await answer.json();
  if (body.status !== 'success') throw new Error(`${parameters.query ?? path}: ${body.error}`);
  return body.data;
}

// $name and ${name}; what is no variable of ours stays.
export function substitute(text: string, variables: Variables): string {
  return text.replace(/\$\{?(\w+)\}?/g, (all, name) => variables[name] ?? all);
}

// Values of label_values(metric{selector}, label), sorted.
export async function labelValues(definition: string, variables: Variables): Promise<string[]> {
  const parts = /^label_values\((.*),\s*(\w+)\)$/.exec(definition);
  if (!parts) throw new Error(`not understood: ${definition}`);
  const series: Labels[] = await ask('series', { 'match[]': substitute(parts[1], variables) });
  return [...new Set(series.map((labels) => labels[parts[2]]).filter(Boolean))].sort();
}

function legendOf(target: Target, labels: Labels): string {
  const format = target.legendFormat ?? '__auto';
  if (format !== '__auto') return format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? '').replace(/^ \/ /, '');
  const values = Object.values(labels);
  return values.length === 1 ? values[0] : values.length === 0 ? 'value' : JSON.stringify(labels);
}

// A gap where Prometheus has no value, as Grafana's data source makes it.
function withGaps(values: Array<[number, string]>, step: number): Array<[number, number | null]> {
  const points: Array<[number, number | null]> = [];
  for (const [time, value] of values) {
    const last = points.at(-1);
    if (last && time - last[0] > 1.5 * step) points.push([last[0] + step, null]);
    points.push([time, Number(value)]);
  }
  return points;
}

function seriesFrame(target: Target, series: Series, step: number): DataFrame {
  const points = withGaps(series.values ?? [series.value!], step);
  const name = legendOf(target, series.metric);
  return toDataFrame({
    refId: target.refId, name,
    fields: [
      { name: 'Time', type: FieldType.time, values: points.map(([time]) => time * 1000) },
      { name: 'Value', type: FieldType.number, labels: series.metric, config: { displayNameFromDS: name }, values: points.map(([, value]) => value) },
    ],
  });
}

// One row for each series: its labels, and `Value #<refId>`.
function tableFrame(target: Target, all: Series[]): DataFrame {
  const labels = [...new Set(all.flatMap((series) => Object.keys(series.metric)))].sort();
  return toDataFrame({
    refId: target.refId,
    fields: [
      ...labels.map((name) => ({ name, type: FieldType.string, values: all.map((series) => series.metric[name] ?? '') })),
      { name: `Value #${target.refId}`, type: FieldType.number, values: all.map((series) => Number(series.value![1])) },
    ],
  });
}

export async function framesOf(target: Target, variables: Variables, range: Range): Promise<DataFrame[]> {
  const query = substitute(target.expr, variables);
  if (target.instant) {
    const all: Series[] = (await ask('query', { query, time: range.to })).result;
    return target.format === 'table' ? [tableFrame(target, all)] : all.map((series) => seriesFrame(target, series, range.step));
  }
  const all: Series[] = (await ask('query_range', { query, start: range.from, end: range.to, step: range.step })).result;
  return all.map((series) => seriesFrame(target, series, range.step));
}

export interface Mark { time: number; color: string; text: string }
interface Annotation { name: string; expr?: string; iconColor: string; titleFormat: string; useValueForTime?: boolean }

// Moments that are drawn over time series, in milliseconds.
export async function marksOf(annotation: Annotation, variables: Variables, range: Range): Promise<Mark[]> {
  if (!annotation.expr) return [];
  const query = substitute(annotation.expr, variables);
  const all: Series[] = (await ask('query_range', { query, start: range.from, end: range.to, step: range.step })).result;
  const marks: Mark[] = [];
  for (const series of all) {
    const text = annotation.titleFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => series.metric[name] ?? '');
    let last = -Infinity;
    for (const [time, value] of series.values!) {
      const at = annotation.useValueForTime ? Number(value) : time * 1000;
      // As Grafana does: what is true at one step after the other happened once.
      const again = annotation.useValueForTime ? at === last : at - last <= 1.5 * range.step * 1000;
      if (!again && at >= range.from * 1000) marks.push({ time: at, color: annotation.iconColor, text });
      last = at;
    }
  }
  return marks;
}
