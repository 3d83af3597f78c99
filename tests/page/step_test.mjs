// The predicted parts of a step, from a service that answers as a script says.
import assert from 'node:assert';
import test from 'node:test';
import {holdPauses, refusal, serve, settled} from './browser.mjs';
const {StepTime} = await import('../../page/src/step.js');

const kPlan = {tensor: 1, pipeline: 1, data: 2};
const kJob = {object: {metadata: {name: 'llama'}, spec: {}, status: {plan: kPlan}}};
const kEstimates = {estimates: [{report: {plan: kPlan, candidates: [{stepParts: {compute: 0.2}}]}}]};
const kKnown = 'Compute 100 %, 200 ms';

// What is told after each pause, of one change of the job; left: answers that nobody asked for.
async function toldOf(...answers) {
  const {pauses, pass} = holdPauses();
  serve(() => answers.shift());
  const step = new StepTime(new AbortController().signal);
  step.drawPredicted(kJob, 'nlp');
  await settled();
  const told = [step.predicted.textContent];
  for (; pauses().length > 0; told.push(step.predicted.textContent)) await pass();
  step.drawPredicted(kJob, 'nlp');
  await settled();
  return {told, left: answers.length};
}

test('a prediction is asked for again where the service was busy, and stands once it is there', async () => {
  for (const status of [429, 503])
    assert.deepStrictEqual(await toldOf(refusal(status, 'busy'), refusal(status, 'still'), Response.json(kEstimates), refusal(400, 'asked again')),
      {told: ['busy', 'still', kKnown], left: 1});
});

test('a prediction that is refused is not asked for again', async () => {
  assert.deepStrictEqual(await toldOf(refusal(400, 'no'), Response.json(kEstimates)), {told: ['no'], left: 1});
});

const withPlan = (plan) => ({object: {...kJob.object, status: {plan}}});

test('a job that gets another layout has the prediction of that one', async () => {
  holdPauses();
  const plan = {tensor: 2, pipeline: 1, data: 1};
  const answers = [kEstimates, {estimates: [{report: {plan, candidates: [{stepParts: {compute: 0.3}}]}}]}];
  serve(() => Response.json(answers.shift()));
  const step = new StepTime(new AbortController().signal);
  const told = [];
  for (const given of [kPlan, plan, {...plan, stepSeconds: 1}]) {
    step.drawPredicted(withPlan(given), 'nlp');
    await settled();
    told.push(step.predicted.textContent);
  }
  assert.deepStrictEqual(told, [kKnown, 'Compute 100 %, 300 ms', 'Compute 100 %, 300 ms']);
});

test('what is told late of a former layout is none of the prediction', async () => {
  holdPauses();
  const plan = {tensor: 2, pipeline: 1, data: 1};
  const late = [];
  serve(() => new Promise((resolve) => { late.push(resolve); }));
  const step = new StepTime(new AbortController().signal);
  for (const given of [kPlan, plan]) step.drawPredicted(withPlan(given), 'nlp');
  await settled();
  late[1](refusal(400, 'no'));
  await settled();
  late[0](Response.json(kEstimates));
  await settled();
  assert.strictEqual(step.predicted.textContent, 'no');
});

test('a page that is left takes its question back, and asks no more', async () => {
  const {pauses, pass} = holdPauses();
  const page = new AbortController();
  const signals = [];
  serve((_, {signal}) => { signals.push(signal); return signals.length === 1 ? refusal(429, 'busy') : new Promise(() => {}); });
  new StepTime(page.signal).drawPredicted(kJob, 'nlp');
  await settled();
  await pass();
  page.abort();
  await settled();
  await pass();
  assert.deepStrictEqual(signals.map((signal) => signal.aborted), [true, true]);
  assert.deepStrictEqual(pauses(), []);
});
