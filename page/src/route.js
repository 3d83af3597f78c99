// Addresses behind the #.

// {view: jobs, job or estimate, namespace, name: of the job, as the API names it}; null: none.
export function routeOf(hash) {
  const [, namespace, view, job] = /^#\/namespaces\/([a-z0-9-]+)\/(jobs|estimate)(?:\/([a-z0-9.-]+))?$/.exec(hash) ?? [];
  if (namespace === undefined || (view === 'estimate' && job)) return null;
  return job ? {view: 'job', namespace, name: `namespaces/${namespace}/jobs/${job}`} : {view, namespace};
}

export const addressOf = (view, namespace) => `#/namespaces/${namespace}/${view}`;
