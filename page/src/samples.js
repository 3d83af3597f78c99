// The steps of a job on its curves.

export const kMostSamples = 20000;

// A step that is trained again stands in for what a former attempt made of it and of what came behind.
export function addSample(samples, one) {
  while (samples.length > 0 && samples.at(-1).step >= one.step) samples.pop();
  samples.push(one);
}

// One of each two of the older half, rather one with a validation loss, which few have, and all of the younger.
export const thinned = (samples) => samples.filter((_, at) => at >= samples.length / 2 || at % 2 === kept(samples, at - at % 2));

const hasValidation = (one) => one?.validationLoss !== undefined;
// Of the two from `first` on.
const kept = (samples, first) => (hasValidation(samples[first + 1]) && !hasValidation(samples[first]) ? 1 : 0);
