// Where a step's time goes, as the ranks measure it and as the planner predicts it.
import {mayPass, pause, post, untilSeen} from './api.js';
import {failure, h, section} from './dom.js';

const kPhases = {forward: 'Forward', backward: 'Backward', communication: 'Communication', optimizer: 'Optimizer', data: 'Data',
  evaluation: 'Evaluation', checkpoint: 'Checkpoint', idle: 'Idle'};
const kParts = {compute: 'Compute', tensorTraffic: 'Tensor-parallel traffic', idle: 'Pipeline bubble', dataTraffic: 'Data-parallel traffic',
  optimizer: 'Optimizer'};
const kMeasured = 16;  // steps, whose mean is shown
const kShortestPause = 2000;  // milliseconds
const kLongestPause = 60000;

// The largest first.
function sharesOf(names, secondsOf) {
  const parts = Object.entries(names).map(([key, name]) => ({name, seconds: secondsOf(key)})).filter((one) => one.seconds > 0);
  const all = parts.reduce((sum, one) => sum + one.seconds, 0);
  return parts.map((one) => ({...one, share: one.seconds / all})).sort((a, b) => b.seconds - a.seconds);
}

// Of an estimate's chosen layout: [{name, seconds, share}]; empty where nobody knows.
export const predictedParts = (estimate) => sharesOf(kParts, (key) => Number(estimate?.report?.candidates?.[0]?.stepParts?.[key] ?? 0));

// Of the last steps, in the mean of the ranks; empty where they tell nothing.
export function measuredParts(samples) {
  const told = samples.slice(-kMeasured).map((one) => one.phaseSeconds).filter(Boolean);
  return sharesOf(kPhases, (key) => told.reduce((sum, one) => sum + Number(one[key] ?? 0), 0) / told.length);
}

const areOfOneLayout = (plan, other) => Boolean(plan && other)
  && ['tensor', 'pipeline', 'data'].every((axis) => (plan[axis] ?? 1) === (other[axis] ?? 1));
// Whether an estimate is of the layout that a job has.
export const isOfLayout = (estimate, plan) => areOfOneLayout(estimate?.report?.plan, plan);

const row = ({name, seconds, share}) => [h('dt', {}, name), h('dd', {}, h('meter', {min: 0, max: 1, value: share, 'aria-label': name}),
  ` ${(100 * share).toFixed(0)} %, ${(1000 * seconds).toFixed(0)} ms`)];
const show = (list, parts, otherwise) => list.replaceChildren(...(parts.length === 0 ? [h('p', {class: 'quiet'}, otherwise)] : parts.flatMap(row)));

export class StepTime {
  constructor(signal) {
    this.signal = signal;
    this.measured = h('dl', {class: 'parts'});
    this.predicted = h('dl', {class: 'parts'});
    this.elements = [section('Step, measured', this.measured), section('Step, predicted', this.predicted)];
    this.drawMeasured([]);
  }

  drawMeasured(samples) { show(this.measured, measuredParts(samples), 'No step has been told of yet.'); }

  // Asks until it is answered or refused, once for each layout that the job gets.
  async drawPredicted(job, namespace) {
    const plan = job.object.status?.plan;
    if (!plan || areOfOneLayout(plan, this.plan)) return;
    this.plan = plan;
    for (let wait = kShortestPause; !await this.predict(job.object, namespace); wait = Math.min(2 * wait, kLongestPause)) {
      await pause(wait, this.signal);
      await untilSeen(this.signal);
    }
  }

  // Resolves to whether asking again changes nothing.
  async predict({metadata, spec, status}, namespace) {
    const isPast = () => this.signal.aborted || this.plan !== status.plan;
    if (isPast()) return true;
    try {
      const {estimates = []} = await post(`namespaces/${namespace}/jobs:estimate`,
        {job: {apiVersion: 'training.caravan.dev/v1alpha1', kind: 'LlamaTrainingJob', metadata: {name: metadata.name}, spec}}, this.signal);
      if (isPast()) return true;
      show(this.predicted, isOfLayout(estimates[0], status.plan) ? predictedParts(estimates[0]) : [],
        'Not known for this layout and these devices.');
      return true;
    } catch (error) {
      if (isPast()) return true;
      this.predicted.replaceChildren(failure(error));
      return !mayPass(error);
    }
  }
}
