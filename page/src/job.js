// One job: what it is like now, its curves, what happened to it, and what can be asked of it.
import {follow, get, post} from './api.js';
import {Curve} from './curve.js';
import {failure, h, say, section, setText} from './dom.js';
import {bytes, bytesOf, duration, nameOf, percent} from './format.js';
import {LogTail} from './log.js';
import {momentsOf} from './moments.js';
import {yamlOf} from './yaml.js';

const kEventsStand = 15000;  // milliseconds

function tilesOf({object}) {
  const {progress = {}, predicted = {}, restarts = 0, layout, state} = object.status ?? {};
  const remaining = progress.estimatedRemainingSeconds;
  return {
    State: state ?? 'Pending',
    Progress: progress.steps ? `${progress.step ?? 0} of ${progress.steps} steps` : '',
    Remaining: remaining === undefined ? '' : duration(remaining),
    Loss: progress.loss, MFU: percent(progress.mfuPercent),
    'MFU predicted': percent(predicted.mfuPercent),
    'Step predicted': predicted.stepMilliseconds ? `${predicted.stepMilliseconds} ms` : '',
    'Tokens/s': progress.tokensPerSecond,
    Layout: layout, Restarts: String(restarts),
  };
}

class Tiles {
  constructor() { this.element = h('dl', {class: 'tiles'}); this.values = new Map(); }

  draw(tiles) {
    for (const [name, text] of Object.entries(tiles)) {
      if (!this.values.has(name)) {
        const value = h('dd');
        this.values.set(name, value);
        this.element.append(h('div', {}, h('dt', {}, name), value));
      }
      setText(this.values.get(name), text || '–');
    }
  }
}

class Memory {
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

// Buttons, and what became of the last one.
class Actions {
  constructor(name) {
    this.name = name;
    this.answer = h('div', {'aria-live': 'polite'});
    this.suspend = h('button', {type: 'button', onclick: () => this.ask(this.verb, `${this.verb} asked for`)});
    this.cancel = h('button', {type: 'button', class: 'danger', onclick: () => this.dialog.showModal()}, 'Cancel job');
    this.dialog = h('dialog', {'aria-label': 'Cancel the job'},
      h('p', {}, `Cancel ${nameOf(name)} for good? It writes a checkpoint if it has a place for one, and cannot be resumed.`),
      h('button', {type: 'button', onclick: () => this.dialog.close(), autofocus: true}, 'Keep it'),
      h('button', {type: 'button', class: 'danger', onclick: () => { this.dialog.close(); this.ask('cancel', 'cancel asked for'); }}, 'Cancel job'));
    this.element = h('div', {class: 'bar'}, this.suspend, this.cancel, this.answer, this.dialog);
  }

  draw({object}) {
    const hasEnded = (object.status?.conditions ?? []).some((one) => ['Complete', 'Failed'].includes(one.type) && one.status === 'True');
    this.verb = object.spec?.suspend ? 'resume' : 'suspend';
    setText(this.suspend, this.verb === 'resume' ? 'Resume' : 'Suspend');
    this.suspend.disabled = this.cancel.disabled = hasEnded;
  }

  async ask(verb, done) {
    try {
      await post(`${this.name}:${verb}`);
      this.answer.replaceChildren(done);
    } catch (error) {
      this.answer.replaceChildren(failure(error));
    }
  }
}

function planSection({object}) {
  const plan = object.status?.plan;
  if (!plan) return section('Plan', h('p', {}, 'Not planned yet.'));
  const {document: _, reason, ...rest} = plan;
  return section('Plan', h('p', {}, reason ? `Why: ${reason}` : ''), h('pre', {tabindex: 0}, yamlOf(rest)));
}

class JobView {
  constructor(name, signal) {
    this.samples = [];
    this.tiles = new Tiles();
    this.memory = new Memory();
    this.actions = new Actions(name);
    this.loss = new Curve('Loss', (value) => value.toFixed(4));
    this.mfu = new Curve('MFU', (value) => `${value.toFixed(1)} %`);
    this.metricsState = h('p', {class: 'quiet', role: 'status'});
    this.moments = h('ol', {class: 'moments'});
    this.plan = h('div');
    this.yaml = h('pre', {tabindex: 0});
    this.events = h('div');
    this.log = new LogTail(name, signal);
    this.element = h('div', {class: 'job'}, h('h1', {}, nameOf(name)), this.actions.element, this.tiles.element,
      section('Loss', this.loss.box), section('MFU', this.mfu.box), this.metricsState, this.memory.element,
      section('Time line', this.moments), this.plan, section('Events', this.events), this.log.element,
      section('YAML', h('details', {}, h('summary', {}, 'The job as it is'), this.yaml)));
    signal.addEventListener('abort', () => { this.loss.close(); this.mfu.close(); }, {once: true});
  }

  draw(job) {
    this.job = job;
    this.tiles.draw(tilesOf(job));
    this.actions.draw(job);
    this.plan.replaceChildren(planSection(job));
    setText(this.yaml, yamlOf(job.object));
    this.drawSamples();
  }

  drawSamples() {
    this.memory.draw(this.job, this.samples);
    this.moments.replaceChildren(...momentsOf(this.job, this.samples).map(({time, text}) =>
      h('li', {}, h('time', {datetime: time}, new Date(time).toLocaleString()), ' ', text)));
  }

  takeSamples(samples) {
    if (samples.length === 0) return;
    this.samples = kept([...this.samples, ...samples]);
    const steps = this.samples.map((one) => one.step);
    this.loss.draw(steps, this.samples.map((one) => Number(one.loss ?? 0)));
    this.mfu.draw(steps, this.samples.map((one) => 100 * Number(one.mfu ?? NaN)));
    this.drawSamples();
  }

  async drawEvents(name, signal) {
    const {events = []} = await get(`${name}/events?pageSize=1000`, signal);
    this.events.replaceChildren(events.length === 0 ? h('p', {}, 'None.') : h('ul', {class: 'events'}, ...events.slice(-200).reverse().map((one) =>
      h('li', {class: one.type === 'Warning' ? 'warning' : ''}, h('time', {datetime: one.time}, new Date(one.time).toLocaleString()),
        ` ${one.type} ${one.reason} (${one.about}): ${one.message}`))));
  }
}

const kMostSamples = 20000;
// A step that is trained again stands in for what a former attempt made of it and of what came behind.
function kept(samples) {
  const line = [];
  for (const one of samples) {
    while (line.length > 0 && line.at(-1).step >= one.step) line.pop();
    line.push(one);
  }
  return line.slice(-kMostSamples);
}

async function keepEvents(view, name, signal) {
  while (!signal.aborted) {
    await view.drawEvents(name, signal).catch((error) => { if (!signal.aborted) view.events.replaceChildren(failure(error)); });
    await new Promise((resolve) => { setTimeout(resolve, kEventsStand); });
  }
}

export async function showJob(main, name, signal) {
  const first = await get(name, signal);
  if (signal.aborted) return;
  const view = new JobView(name, signal);
  view.draw(first);
  main.replaceChildren(view.element);
  keepEvents(view, name, signal);
  view.log.start();
  follow(`${name}/metrics?follow=true`, {signal, onState: (text) => setText(view.metricsState, text),
    onMessage: ({samples = []}) => view.takeSamples(samples)})
    .catch((error) => setText(view.metricsState, `No curves: ${error.message}`));
  await follow(`${name.slice(0, name.lastIndexOf('/'))}:watch?filter=${encodeURIComponent(`name=${nameOf(name)}`)}`, {signal, onState: say,
    onMessage: ({kind, job}) => {
      if (kind === 'Changed') view.draw(job);
      if (kind === 'Gone') say(`${nameOf(name)} is gone`);
    }});
}
