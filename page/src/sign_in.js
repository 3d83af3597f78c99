// Asks whose jobs are to be shown, and by whom where this tab does not know yet.
import {signedIn, signIn} from './api.js';
import {failure, h} from './dom.js';

const kWhichToken = 'A token of Kubernetes for the audience caravan; to see events and logs and to change jobs, for the API server too. ' +
  'Only this tab keeps it, until it is closed.';

// error: why he is asked again; onEnter(namespace): he has answered.
export function showSignIn(main, {namespace, error, onEnter}) {
  const isKnown = signedIn();
  const name = h('input', {id: 'namespace', value: namespace, autocomplete: 'off', required: true,
    pattern: '-|[a-z0-9]([a-z0-9\\-]*[a-z0-9])?', title: 'a name of a namespace, or - for all'});
  const token = h('input', {id: 'token', type: 'password', autocomplete: 'off', required: true});
  const enter = (event) => {
    event.preventDefault();
    if (!isKnown) signIn(token.value.trim());
    onEnter(name.value.trim());
  };
  main.replaceChildren(h('form', {class: 'sign-in', onsubmit: enter}, h('h1', {}, isKnown ? 'Which namespace?' : 'Sign in'),
    isKnown ? null : h('p', {}, kWhichToken), error ? failure(error) : null,
    h('label', {for: 'namespace'}, 'Namespace, - for all'), name,
    ...(isKnown ? [] : [h('label', {for: 'token'}, 'Token'), token]),
    h('button', {type: 'submit', class: 'primary'}, isKnown ? 'Show' : 'Sign in')));
  (isKnown ? name : token).focus();
}
