// Shows the view that the address names: #/namespaces/NAMESPACE/jobs[/JOB] or #/namespaces/NAMESPACE/estimate.
import './main.css';
import {signedIn, signOut, whenLost, whenUnknown} from './api.js';
import {failure, h, say} from './dom.js';
import {showEstimate} from './estimate.js';
import {showJob} from './job.js';
import {showJobs} from './jobs.js';
import {addressOf, routeOf} from './route.js';
import {enter, runOf} from './run.js';
import {showSignIn} from './sign_in.js';

const main = document.getElementById('main');
const nav = document.getElementById('nav');
const signOutButton = document.getElementById('sign-out');
const run = runOf(document);
const kViews = {jobs: showJobs, job: showJob, estimate: showEstimate};
let shown = new AbortController();

function askWho(error) {
  if (run) return main.replaceChildren(failure(error ?? new Error('Open this page by the whole address that caravan run printed, which ends in its token.')));
  showSignIn(main, {namespace: routeOf(location.hash)?.namespace ?? 'default', error, onEnter: enterNamespace});
}

function enterNamespace(namespace) {
  const wanted = routeOf(location.hash)?.namespace === namespace ? location.hash : addressOf('jobs', namespace);
  if (location.hash === wanted) show(); else location.hash = wanted;
}

async function show() {
  shown.abort();
  shown = new AbortController();
  const {signal} = shown;
  say('');
  nav.replaceChildren();
  const route = routeOf(location.hash);
  signOutButton.hidden = run || !signedIn();
  if (!signedIn() || route === null) return askWho();
  nav.append(...['jobs', 'estimate'].filter((view) => view === 'jobs' || (!run && route.namespace !== '-')).map((view) =>
    h('a', {href: addressOf(view, route.namespace), 'aria-current': view === route.view ? 'page' : undefined},
      view === 'jobs' ? 'Jobs' : 'Estimate')));
  document.title = `${route.name ?? route.view} · Caravan`;
  main.replaceChildren();
  main.focus({preventScroll: true});
  scrollTo(0, 0);
  try {
    await kViews[route.view](main, route.name ?? route.namespace, signal);
  } catch (error) {
    if (signal.aborted) return;
    shown.abort();
    main.replaceChildren(failure(error));
  }
}

whenUnknown((error) => {
  shown.abort();
  signOut();
  signOutButton.hidden = true;
  askWho(error);
});

signOutButton.addEventListener('click', () => { signOut(); show(); });
addEventListener('hashchange', () => { if (run) enter(run); show(); });
if (run) {
  whenLost('the run has ended, or cannot be reached');
  enter(run);
}
show();
