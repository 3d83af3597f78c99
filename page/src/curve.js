// A curve over steps.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import {h, setText} from './dom.js';

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

export class Curve {
  constructor(title, shown) {
    this.title = title;
    this.shown = shown;  // a number as text
    this.box = h('div', {class: 'curve', role: 'img', 'aria-label': `${title}: no steps yet`});
    this.resized = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.resized.observe(this.box);
  }

  size() { return {width: Math.max(200, this.box.clientWidth), height: 200}; }

  // Numbers that are none leave a gap.
  draw(steps, values) {
    const numbers = values.map((value) => (Number.isFinite(value) ? value : null));
    const last = numbers.at(-1);
    this.box.setAttribute('aria-label', `${this.title}: ${last === null || last === undefined
      ? 'unknown' : this.shown(last)} at step ${steps.at(-1)}`);
    if (this.plot) return this.plot.setData([steps, numbers]);
    const isUnknown = numbers.every((one) => one === null);
    setText(this.box, isUnknown ? 'Unknown.' : '');
    if (isUnknown) return;
    const axis = {stroke: color('--quiet'), grid: {stroke: color('--line')}, ticks: {stroke: color('--line')}};
    this.plot = new uPlot({...this.size(), scales: {x: {time: false}}, axes: [axis, {...axis, size: 60}],
      series: [{label: 'step'}, {label: this.title, stroke: color('--accent'), width: 2,
        value: (_, value) => (value === null ? '' : this.shown(value))}]}, [steps, numbers], this.box);
  }

  close() { this.resized.disconnect(); this.plot?.destroy(); }
}
