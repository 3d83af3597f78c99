// Whether the page is of one `caravan run`, which can only be looked at.
import {signIn} from './api.js';

// The run's job, as the API names it; '' of a service.
export const runOf = (page) => page?.querySelector('meta[name=caravan-run]')?.content ?? '';

// The token of an address as `caravan run --page` prints it; null: it has none.
export const tokenIn = (hash) => /^#token=([0-9a-f]+)$/.exec(hash)?.[1] ?? null;

// Takes the token out of the address, so that it is neither seen nor kept there.
export function enter(run) {
  const token = tokenIn(location.hash);
  if (token !== null) signIn(token);
  if (token !== null || location.hash.length < 3) history.replaceState(null, '', `#/${run}`);
}
