// A curve over steps.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import {h, setText} from './dom.js';

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const kColors = ['--accent', '--good'];

export class Curve {
  // sparse: the title of a second line, which has a value at some steps only.
  constructor(title, shown, sparse = undefined) {
    this.titles = [title, sparse].filter(Boolean);
    this.shown = shown;  // a number as text
    this.box = h('div', {class: 'curve', role: 'img', 'aria-label': `${title}: no steps yet`});
    this.resized = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.resized.observe(this.box);
  }

  size() { return {width: Math.max(200, this.box.clientWidth), height: 200}; }

  // Numbers that are none leave a gap; the sparse line goes over its gaps.
  draw(steps, ...values) {
    const lines = values.map((line) => line.map((value) => (Number.isFinite(value) ? value : null)));
    this.box.setAttribute('aria-label', this.told(steps, ...lines));
    if (this.plot) return this.plot.setData([steps, ...lines]);
    const isUnknown = lines.flat().every((one) => one === null);
    setText(this.box, isUnknown ? 'Unknown.' : '');
    if (isUnknown) return;
    const axis = {stroke: color('--quiet'), grid: {stroke: color('--line')}, ticks: {stroke: color('--line')}};
    const series = this.titles.map((label, at) => ({label, stroke: color(kColors[at]), width: 2, spanGaps: at > 0,
      value: (_, value) => (value === null ? '' : this.shown(value))}));
    this.plot = new uPlot({...this.size(), scales: {x: {time: false}}, axes: [axis, {...axis, size: 60}],
      series: [{label: 'step'}, ...series]}, [steps, ...lines], this.box);
  }

  // What the last step has, and the last value of the sparse line.
  told(steps, line, sparse = []) {
    const wordsOf = (title, value, at) => `${title}: ${value === null ? 'unknown' : this.shown(value)} at step ${steps[at]}`;
    const last = sparse.findLastIndex((one) => one !== null);
    return [wordsOf(this.titles[0], line.at(-1), line.length - 1),
      ...(last < 0 ? [] : [wordsOf(this.titles[1], sparse[last], last)])].join('; ');
  }

  close() { this.resized.disconnect(); this.plot?.destroy(); }
}
