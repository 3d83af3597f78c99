// What the planner says of a job before a device is taken.
import {post} from './api.js';
import {failure, h} from './dom.js';
import {bytes, duration, hours, seconds} from './format.js';

const kExample = {
  apiVersion: 'training.caravan.dev/v1alpha1', kind: 'LlamaTrainingJob', metadata: {name: 'llama'},
  spec: {
    model: {preset: 'llama3-8b'}, data: {claimName: 'corpus', path: 'train.bin'},
    training: {steps: 10000, sequenceLength: 8192, globalBatchSequences: 512},
    resources: {devices: 64, devicesPerNode: 8, device: {kind: 'GPU', product: 'NVIDIA-H100-80GB-HBM3'}},
  },
};

const kColumns = ['Devices', 'Fits', 'Layout', 'Memory', 'Step', 'MFU', 'Training', 'Device hours', 'Cost', 'Why'];
// '' of what an estimate does not tell.
const told = (value, shown) => (value === undefined ? '' : shown(Number(value)));

export function cellsOf(estimate) {
  const plan = estimate.report?.plan;
  return [estimate.devices, estimate.fits ? 'yes' : 'no', plan ? `TP${plan.tensor} PP${plan.pipeline} DP${plan.data}` : '',
    plan?.peakBytes ? bytes(Number(plan.peakBytes)) : '', told(plan?.stepSeconds, seconds),
    told(plan?.mfu, (mfu) => `${(100 * mfu).toFixed(1)} %`), told(estimate.trainingSeconds, duration), told(estimate.deviceHours, hours),
    estimate.cost ?? '', estimate.reason || plan?.reason || ''].map(String);
}

const tableOf = (estimates) => h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Estimates'}, h('table', {},
  h('thead', {}, h('tr', {}, ...kColumns.map((one) => h('th', {scope: 'col'}, one)))),
  h('tbody', {}, ...estimates.map((one) => h('tr', {}, ...cellsOf(one).map((text) => h('td', {}, text)))))));

export async function showEstimate(main, namespace, signal) {
  const job = h('textarea', {id: 'job', rows: 20, spellcheck: 'false'}, JSON.stringify(kExample, null, 2));
  const devices = h('input', {id: 'devices', placeholder: '32, 64, 128', inputmode: 'numeric'});
  const price = h('input', {id: 'price', placeholder: '2.50', inputmode: 'decimal'});
  const answer = h('div', {'aria-live': 'polite'});
  const button = h('button', {type: 'submit', class: 'primary'}, 'Estimate');
  const estimate = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const {estimates = []} = await post(`namespaces/${namespace}/jobs:estimate`, {job: JSON.parse(job.value),
        devices: devices.value.split(/[\s,]+/).filter(Boolean).map(Number), deviceHourPrice: price.value.trim()}, signal);
      if (!signal.aborted) answer.replaceChildren(tableOf(estimates));
    } catch (error) {
      answer.replaceChildren(failure(error));
    }
    button.disabled = false;
  };
  main.replaceChildren(h('form', {onsubmit: estimate}, h('h1', {}, 'Estimate'), h('label', {for: 'job'}, 'Job, as JSON'), job,
    h('label', {for: 'devices'}, 'Numbers of devices; empty: the job’s own'), devices,
    h('label', {for: 'price'}, 'Price of a device for an hour; empty: no cost'), price, button), answer);
}
