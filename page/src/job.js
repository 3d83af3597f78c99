// One job: what it is like now, its curves, what happened to it, and what can be asked of it.
import {Actions} from './actions.js';
import {follow, get} from './api.js';
import {Curve} from './curve.js';
import {h, say, section, setText} from './dom.js';
import {Events} from './events.js';
import {nameOf, namespaceOf} from './format.js';
import {LogTail} from './log.js';
import {Memory} from './memory.js';
import {momentsOf} from './moments.js';
import {Plan} from './plan.js';
import {Ranks} from './ranks.js';
import {runOf} from './run.js';
import {addSample, kMostSamples, thinned} from './samples.js';
import {StepTime} from './step.js';
import {Tiles} from './tiles.js';
import {yamlOf} from './yaml.js';

const kFinal = ['Complete', 'Failed', 'Interrupted'];

class JobView {
  constructor(name, signal) {
    this.name = name;
    this.signal = signal;
    this.samples = [];
    this.begun = new Map();  // the first sample of each attempt
    this.tiles = new Tiles();
    this.memory = new Memory();
    this.actions = runOf(document) ? null : new Actions(name);
    this.loss = new Curve('Loss', (value) => value.toFixed(4), 'Validation loss');
    this.mfu = new Curve('MFU', (value) => `${value.toFixed(1)} %`);
    this.metricsState = h('p', {class: 'quiet', role: 'status'});
    this.moments = h('ol', {class: 'moments'});
    this.plan = new Plan();
    this.yaml = h('pre', {tabindex: 0, role: 'region', 'aria-label': 'YAML'});
    this.events = new Events(name, signal);
    this.log = new LogTail(name, signal);
    this.ranks = new Ranks((rank) => this.log.show(rank));
    this.step = new StepTime(signal);
    this.element = h('div', {class: 'job'}, h('h1', {}, nameOf(name)), this.actions?.element, this.tiles.element,
      section('Loss', this.loss.box), section('MFU', this.mfu.box), this.metricsState, this.memory.element,
      section('Time line', this.moments), ...this.step.elements, this.plan.element, this.ranks.element,
      this.events.element, this.log.element,
      section('YAML', h('details', {}, h('summary', {}, 'The job as it is'), this.yaml)));
    signal.addEventListener('abort', () => { this.loss.close(); this.mfu.close(); }, {once: true});
  }

  // Resolves when the events of a new state are there.
  draw(job) {
    this.job = job;
    this.actions?.draw(job);
    this.plan.draw(job);
    this.ranks.draw(job);
    this.step.drawPredicted(job, namespaceOf(job.name));
    setText(this.yaml, yamlOf(job.object));
    this.changed();
    const {state} = job.object.status ?? {};
    const isTold = state === this.toldState;
    this.toldState = state;
    return isTold ? undefined : this.events.read();
  }

  // It was deleted: what was told of it last stands.
  drawGone() {
    this.job = {...this.job, isGone: true};
    this.actions?.draw(this.job);
    this.changed();
  }

  get hasEnded() { return this.job.isGone || kFinal.includes(this.job.object.status?.state); }

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
    this.tiles.draw(this.job, this.samples.at(-1));
    if (steps.length > 0) {
      const values = (of) => this.samples.map((one) => Number(of(one) ?? NaN));
      this.loss.draw(steps, values((one) => one.loss), values((one) => one.validationLoss));
      this.mfu.draw(steps, values((one) => 100 * one.mfu));
    }
    this.memory.draw(this.job, this.samples);
    if (steps.length > 0) this.step.drawMeasured(this.samples);
    const moments = momentsOf(this.job, [...this.begun.values()]);
    const told = JSON.stringify(moments);
    if (told === this.toldMoments) return;
    this.toldMoments = told;
    this.moments.replaceChildren(...moments.map(({time, text}) =>
      h('li', {}, h('time', {datetime: time}, new Date(time).toLocaleString()), ' ', text)));
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
  // First of the three, as they come to places for streams.
  let isThere = false;
  const sayState = (text) => say(text || (view.job.isGone ? `${nameOf(name)} is gone` : ''));
  const watched = follow(`${name.slice(0, name.lastIndexOf('/'))}:watch?filter=${encodeURIComponent(`name=${nameOf(name)}`)}`, {
    signal: one.signal, onState: sayState, onAnew: () => { isThere = false; },
    onMessage: async ({kind, job}) => {
      const isGone = kind === 'Gone' || (kind === 'Complete' && !isThere);
      if (isGone) {
        view.drawGone();
        sayState('');
      }
      if (kind !== 'Changed') return;
      isThere = true;
      if (job.uid !== first.uid) return one.abort();
      const wasGone = view.job.isGone;
      const isDrawn = view.draw(job);
      if (wasGone) sayState('');  // whoever said so had not heard of it yet
      // The last message may be the end of a run's server. Any other has no time to wait for a connection.
      if (kFinal.includes(job.object.status?.state)) await isDrawn;
    }});
  view.events.keep(() => view.hasEnded);
  follow(`${name}/metrics?follow=true`, {signal: one.signal, onState: (text) => setText(view.metricsState, text),
    onMessage: ({samples = []}) => view.takeSamples(samples)})
    .catch((error) => setText(view.metricsState, `No curves: ${error.message}`));
  view.log.start();
  await watched;
  if (one.signal.aborted) return;
  say('The run is over.');  // no other watch ends by itself
  view.events.areAll = true;
  await new Promise((resolve) => { signal.addEventListener('abort', resolve, {once: true}); });
}

export async function showJob(main, name, signal) {
  while (!signal.aborted) await showOne(main, name, signal);
}
