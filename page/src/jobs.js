// The table of jobs, kept up by a watch.
import {follow} from './api.js';
import {h, say, setText} from './dom.js';
import {age, nameOf, namespaceOf, percent, stateOf} from './format.js';
import {ordered} from './order.js';

const kMany = 300;  // jobs, whose drawing takes a while
const kRest = 1000;  // milliseconds, between two drawings of so many
const kColumns = ['Name', 'State', 'Progress', 'MFU', 'Layout', 'Restarts', 'Age'];

export function jobRow(job, now, withNamespace) {
  const status = job.object.status ?? {};
  const progress = status.progress ?? {};
  const name = withNamespace ? `${namespaceOf(job.name)}/${nameOf(job.name)}` : nameOf(job.name);
  return [name, stateOf(job), percent(progress.percent), percent(progress.mfuPercent),
    status.layout ?? '', String(status.restarts ?? 0), age(job.createTime, now)];
}

class JobTable {
  constructor(namespace) {
    this.isOfAll = namespace === '-';
    this.jobs = new Map();  // by name, with the row
    this.drawnAt = -kRest;
    this.filter = h('input', {type: 'search', 'aria-label': 'Filter by name or state', placeholder: 'Filter by name or state',
      oninput: () => this.drawSoon()});
    this.order = h('select', {'aria-label': 'Order', onchange: () => this.drawSoon()},
      ...['newest', 'name', 'state'].map((one) => h('option', {value: one}, one)));
    this.count = h('p', {role: 'status', class: 'count'});
    this.body = h('tbody');
    const head = h('tr', {}, ...kColumns.map((one) => h('th', {scope: 'col', class: one.toLowerCase()}, one)));
    this.element = h('div', {}, h('h1', {}, namespace === '-' ? 'Jobs of all namespaces' : `Jobs of ${namespace}`),
      h('div', {class: 'bar'}, this.filter, this.order, this.count), h('table', {}, h('thead', {}, head), this.body));
  }

  take({kind, job}) {
    if (kind === 'Complete') this.isComplete = true;
    if (kind === 'Gone') this.jobs.delete(job.name);
    if (kind === 'Changed') this.jobs.set(job.name, {job, row: this.jobs.get(job.name)?.row ?? newRow(job)});
    this.changed();  // at a heartbeat too, since ages go on
  }

  forget() {
    this.jobs.clear();
    this.isComplete = false;
  }

  changed() {
    if (this.isDue) return;
    this.isDue = true;
    const rest = this.jobs.size > kMany ? this.drawnAt + kRest - performance.now() : 0;
    if (rest > 0) this.timer = setTimeout(() => this.drawSoon(), rest); else this.drawSoon();
  }

  drawSoon() { requestAnimationFrame(() => this.draw()); }

  draw() {
    clearTimeout(this.timer);
    this.isDue = false;
    this.drawnAt = performance.now();
    const now = Date.now();
    const shown = ordered([...this.jobs.values()], this.filter.value, this.order.value);
    for (const {job, row} of shown) fill(row, jobRow(job, now, this.isOfAll));
    const rows = shown.map((one) => one.row);
    // Rows that stay where they are keep the focus.
    if (rows.length !== this.body.rows.length || rows.some((row, at) => row !== this.body.rows[at])) {
      const focused = document.activeElement;
      this.body.replaceChildren(...rows);
      if (this.body.contains(focused)) focused.focus({preventScroll: true});
    }
    setText(this.count, this.isComplete ? `${shown.length} of ${this.jobs.size} jobs` : 'loading');
  }
}

function newRow(job) {
  const row = h('tr', {}, ...kColumns.map((one) => h('td', {class: one.toLowerCase()})));
  row.cells[0].append(h('a', {href: `#/${job.name}`}));
  return row;
}

function fill(row, texts) {
  texts.forEach((text, at) => setText(at === 0 ? row.cells[0].firstChild : row.cells[at], text));
  row.cells[1].dataset.state = texts[1];
}

export async function showJobs(main, namespace, signal) {
  const table = new JobTable(namespace);
  main.replaceChildren(table.element);
  await follow(`namespaces/${encodeURIComponent(namespace)}/jobs:watch`,
    {signal, onState: say, onMessage: (message) => table.take(message), onAnew: () => table.forget()});
  if (!signal.aborted) say('The run is over.');  // no other watch ends by itself
}
