// Where a step's time goes, as the planner predicts it.
import {post} from './api.js';
import {failure, h, section} from './dom.js';

const kParts = {compute: 'Compute', tensorTraffic: 'Tensor-parallel traffic', idle: 'Pipeline bubble', dataTraffic: 'Data-parallel traffic',
  optimizer: 'Optimizer'};

// Of an estimate's chosen layout, the largest first: [{name, seconds, share}]; empty where nobody knows.
export function stepParts(estimate) {
  const parts = estimate?.report?.candidates?.[0]?.stepParts ?? {};
  const known = Object.entries(kParts).map(([key, name]) => ({name, seconds: Number(parts[key] ?? 0)})).filter((one) => one.seconds > 0);
  const all = known.reduce((sum, one) => sum + one.seconds, 0);
  return known.map((one) => ({...one, share: one.seconds / all})).sort((a, b) => b.seconds - a.seconds);
}

// Whether an estimate is of the layout that a job has.
export function isOfLayout(estimate, plan) {
  const chosen = estimate?.report?.plan;
  return Boolean(chosen && plan) && ['tensor', 'pipeline', 'data'].every((axis) => (chosen[axis] ?? 1) === (plan[axis] ?? 1));
}

export class StepTime {
  constructor() {
    this.list = h('dl', {class: 'parts'});
    this.element = section('Step, predicted', this.list);
  }

  async draw(job, namespace) {
    if (!job.object.status?.plan || this.isAsked) return;
    this.isAsked = true;
    const {metadata, spec} = job.object;
    try {
      const {estimates = []} = await post(`namespaces/${namespace}/jobs:estimate`,
        {job: {apiVersion: 'training.caravan.dev/v1alpha1', kind: 'LlamaTrainingJob', metadata: {name: metadata.name}, spec}});
      this.show(isOfLayout(estimates[0], job.object.status.plan) ? stepParts(estimates[0]) : []);
    } catch (error) {
      this.list.replaceChildren(failure(error));
    }
  }

  show(parts) {
    if (parts.length === 0) this.list.replaceChildren(h('p', {class: 'quiet'}, 'Not known for this layout and these devices.'));
    else this.list.replaceChildren(...parts.flatMap(({name, seconds, share}) => [h('dt', {}, name), h('dd', {},
      h('meter', {min: 0, max: 1, value: share, 'aria-label': name}), ` ${(100 * share).toFixed(0)} %, ${(1000 * seconds).toFixed(0)} ms`)]));
  }
}
