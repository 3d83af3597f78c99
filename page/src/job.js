// One job: what it is like now, its curves, what happened to it, and what can be asked of it.
import {follow, get, post} from './api.js';
import {Curve} from './curve.js';
import {failure, h, say, section, setText} from './dom.js';
import {bytes, bytesOf, duration, nameOf, namespaceOf, percent} from './format.js';
import {addSample, kMostSamples, thinned} from './samples.js';
import {LogTail} from './log.js';
import {momentsOf} from './moments.js';
import {kMostRanks, ranksOf} from './ranks.js';
import {isOfLayout, stepParts} from './step.js';
import {yamlOf} from './yaml.js';

const kEventsStand = 15000;  // milliseconds
const kBetweenClicks = 1000;

function tilesOf({object}, last) {
  const {progress = {}, predicted = {}, restarts = 0, layout, state} = object.status ?? {};
  const remaining = progress.estimatedRemainingSeconds;
  return {
    State: state ?? 'Pending',
    Progress: progress.steps ? `${progress.step ?? 0} of ${progress.steps} steps` : '',
    Remaining: remaining === undefined ? '' : duration(remaining),
    Loss: progress.loss, MFU: percent(progress.mfuPercent) || percent(last?.mfu && (100 * last.mfu).toFixed(1)),
    Step: last?.seconds > 0 ? `${(1000 * last.seconds).toFixed(0)} ms` : '',
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
    this.suspend = h('button', {type: 'button', onclick: () => this.turn()});
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

  // What the watch tells changes the button's meaning, which a second click in a row does not ask for.
  turn() {
    if (this.hasJustTurned) return;
    this.hasJustTurned = true;
    setTimeout(() => { this.hasJustTurned = false; }, kBetweenClicks);
    this.ask(this.verb, `${this.verb} asked for`);
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

class Plan {
  constructor() {
    this.why = h('p');
    this.sizes = h('pre', {tabindex: 0, role: 'region', 'aria-label': 'Sizes of the plan'});
    this.element = section('Plan', this.why, this.sizes);
  }

  draw({object}) {
    const {document: _, reason, ...rest} = object.status?.plan ?? {};
    setText(this.why, object.status?.plan ? (reason ? `Why: ${reason}` : '') : 'Not planned yet.');
    setText(this.sizes, object.status?.plan ? yamlOf(rest) : '');
  }
}

// A strip of the ranks by node; one that is chosen shows its log.
class Ranks {
  constructor(onChoice) {
    this.onChoice = onChoice;
    this.strip = h('div', {class: 'ranks'});
    this.failed = h('p');
    this.element = section('Ranks', this.strip, this.failed);
  }

  draw({object}) {
    const {plan, failedMachines = []} = object.status ?? {};
    const perNode = object.spec?.resources?.devicesPerNode ?? 8;
    const told = JSON.stringify([plan?.tensor, plan?.pipeline, plan?.data, perNode]);
    if (told !== this.told) this.strip.replaceChildren(...this.cells(plan, perNode));
    this.told = told;
    setText(this.failed, failedMachines.map((one) => `${one.name} failed ${one.failures ?? 1} times, last in attempt ${one.attempt ?? '?'}`).join('; '));
  }

  cells(plan, perNode) {
    if (!plan) return ['Not planned yet.'];
    const ranks = ranksOf(plan, perNode);
    if (ranks.length > kMostRanks) return [`${ranks.length} ranks on ${Math.ceil(ranks.length / perNode)} nodes.`];
    return ranks.map(({rank, node, stage, replica}) => {
      const title = `Rank ${rank}: node ${node}, stage ${stage}, copy ${replica} of the model`;
      return h('button', {type: 'button', title, 'aria-label': `${title}; shows its log`, class: node % 2 ? 'odd' : '',
        onclick: () => this.onChoice(rank)}, String(rank));
    });
  }
}

// Where the planner sees the time of a step go.
class StepTime {
  constructor() {
    this.list = h('dl', {class: 'parts'});
    this.element = section('Step, predicted', this.list);
  }

  async draw(job, namespace) {
    if (!job.object.status?.plan || this.isAsked) return;
    this.isAsked = true;
    const {metadata, spec} = job.object;
    const {estimates = []} = await post(`namespaces/${namespace}/jobs:estimate`,
      {job: {apiVersion: 'training.caravan.dev/v1alpha1', kind: 'LlamaTrainingJob', metadata: {name: metadata.name}, spec}}).catch(() => ({}));
    const parts = isOfLayout(estimates[0], job.object.status.plan) ? stepParts(estimates[0]) : [];
    this.list.replaceChildren(...(parts.length === 0 ? [h('p', {class: 'quiet'}, 'Not known for this layout and these devices.')]
      : parts.flatMap(({name, seconds, share}) => [h('dt', {}, name), h('dd', {}, h('meter', {min: 0, max: 1, value: share, 'aria-label': name}),
        ` ${(100 * share).toFixed(0)} %, ${(1000 * seconds).toFixed(0)} ms`)])));
  }
}

class JobView {
  constructor(name, signal) {
    this.samples = [];
    this.begun = new Map();  // the first sample of each attempt
    this.tiles = new Tiles();
    this.memory = new Memory();
    this.actions = new Actions(name);
    this.loss = new Curve('Loss', (value) => value.toFixed(4));
    this.mfu = new Curve('MFU', (value) => `${value.toFixed(1)} %`);
    this.metricsState = h('p', {class: 'quiet', role: 'status'});
    this.moments = h('ol', {class: 'moments'});
    this.plan = new Plan();
    this.yaml = h('pre', {tabindex: 0, role: 'region', 'aria-label': 'YAML'});
    this.events = h('div');
    this.log = new LogTail(name, signal);
    this.ranks = new Ranks((rank) => this.log.show(rank));
    this.step = new StepTime();
    this.element = h('div', {class: 'job'}, h('h1', {}, nameOf(name)), this.actions.element, this.tiles.element,
      section('Loss', this.loss.box), section('MFU', this.mfu.box), this.metricsState, this.memory.element,
      section('Time line', this.moments), this.step.element, this.plan.element, this.ranks.element,
      section('Events', this.events), this.log.element,
      section('YAML', h('details', {}, h('summary', {}, 'The job as it is'), this.yaml)));
    signal.addEventListener('abort', () => { this.loss.close(); this.mfu.close(); }, {once: true});
  }

  draw(job) {
    this.job = job;
    this.actions.draw(job);
    this.plan.draw(job);
    this.ranks.draw(job);
    this.step.draw(job, namespaceOf(job.name));
    setText(this.yaml, yamlOf(job.object));
    this.changed();
  }

  takeSamples(samples) {
    for (const one of samples) {
      if (!this.begun.has(one.attempt)) this.begun.set(one.attempt, one);
      addSample(this.samples, one);
    }
    if (this.samples.length > kMostSamples) this.samples = thinned(this.samples);
    if (samples.length > 0) this.changed();
  }

  changed() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => { this.isDue = false; this.drawSamples(); });
  }

  drawSamples() {
    const steps = this.samples.map((one) => one.step);
    this.tiles.draw(tilesOf(this.job, this.samples.at(-1)));
    if (steps.length > 0) {
      this.loss.draw(steps, this.samples.map((one) => Number(one.loss ?? NaN)));
      this.mfu.draw(steps, this.samples.map((one) => 100 * Number(one.mfu ?? NaN)));
    }
    this.memory.draw(this.job, this.samples);
    const moments = momentsOf(this.job, [...this.begun.values()]);
    const told = JSON.stringify(moments);
    if (told === this.toldMoments) return;
    this.toldMoments = told;
    this.moments.replaceChildren(...moments.map(({time, text}) =>
      h('li', {}, h('time', {datetime: time}, new Date(time).toLocaleString()), ' ', text)));
  }

  async drawEvents(name, signal) {
    const {events = []} = await get(`${name}/events?pageSize=1000`, signal);
    const told = JSON.stringify(events);
    if (told === this.toldEvents) return;
    this.toldEvents = told;
    this.events.replaceChildren(events.length === 0 ? h('p', {}, 'None.') : h('ul', {class: 'events'}, ...events.slice(-200).reverse().map((one) =>
      h('li', {class: one.type === 'Warning' ? 'warning' : ''}, h('time', {datetime: one.time}, new Date(one.time).toLocaleString()),
        ` ${one.type} ${one.reason} (${one.about}): ${one.message}`))));
  }
}

async function keepEvents(view, name, signal) {
  while (!signal.aborted) {
    await view.drawEvents(name, signal).catch((error) => { if (!signal.aborted) view.events.replaceChildren(failure(error)); });
    await new Promise((resolve) => { setTimeout(resolve, kEventsStand); });
  }
}

// Until it is known that another job has the name, or signal is aborted.
async function showOne(main, name, signal) {
  const first = await get(name, signal);
  if (signal.aborted) return;
  const one = new AbortController();
  signal.addEventListener('abort', () => one.abort(), {signal: one.signal});
  const view = new JobView(name, one.signal);
  view.draw(first);
  main.replaceChildren(view.element);
  keepEvents(view, name, one.signal);
  view.log.start();
  follow(`${name}/metrics?follow=true`, {signal: one.signal, onState: (text) => setText(view.metricsState, text),
    onMessage: ({samples = []}) => view.takeSamples(samples)})
    .catch((error) => setText(view.metricsState, `No curves: ${error.message}`));
  let isThere = false;
  const sayGone = () => say(`${nameOf(name)} is gone`);
  await follow(`${name.slice(0, name.lastIndexOf('/'))}:watch?filter=${encodeURIComponent(`name=${nameOf(name)}`)}`, {
    signal: one.signal, onState: say, onAnew: () => { isThere = false; },
    onMessage: ({kind, job}) => {
      if (kind === 'Gone' || (kind === 'Complete' && !isThere)) sayGone();
      if (kind !== 'Changed') return;
      isThere = true;
      if (job.uid === first.uid) view.draw(job); else one.abort();
    }});
}

export async function showJob(main, name, signal) {
  while (!signal.aborted) await showOne(main, name, signal);
}
