// The predicted parts of a step, from a service that answers as a script says.
import assert from 'node:assert';
import test from 'node:test';

class Element {
  children = [];

  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute() {}
  get textContent() { return this.children.map((one) => one.textContent ?? one).join(''); }
}

globalThis.sessionStorage = {getItem: () => 'secret', setItem() {}, removeItem() {}};
globalThis.document = {createElement: () => new Element(), addEventListener() {}};
const {StepTime} = await import('../../page/src/step.js');

const kPlan = {tensor: 1, pipeline: 1, data: 2};
const kJob = {object: {metadata: {name: 'llama'}, spec: {}, status: {plan: kPlan}}};
const kEstimates = {estimates: [{report: {plan: kPlan, candidates: [{stepParts: {compute: 0.2}}]}}]};
const failure = (status, message) => new Response(JSON.stringify({message}), {status});

// What is told after each of as many changes of the job as the service has answers.
async function toldOf(...answers) {
  const ask = globalThis.fetch;
  globalThis.fetch = async () => answers.shift();
  const step = new StepTime();
  const told = [];
  for (let changes = answers.length; changes > 0; --changes) {
    await step.drawPredicted(kJob, 'nlp');
    told.push(step.predicted.textContent);
  }
  globalThis.fetch = ask;
  return told;
}

test('a prediction is asked for again where the service was busy, and stands once it is there', async () => {
  const known = 'Compute 100 %, 200 ms';
  for (const status of [429, 503])
    assert.deepStrictEqual(await toldOf(failure(status, 'busy'), Response.json(kEstimates), failure(400, 'asked again')),
      ['busy', known, known]);
});

test('a prediction that is refused is not asked for again', async () => {
  assert.deepStrictEqual(await toldOf(failure(400, 'no'), Response.json(kEstimates)), ['no', 'no']);
});
