// Places for streams. Over HTTP/1.1 a browser has six connections for a server, all its windows together, and a stream holds
// one for as long as it lasts: without one left, nothing could be asked of the service any more.

const kPlaces = [1, 2, 3, 4].map((place) => `caravan.stream.${place}`);  // locks, which all windows share
export const kNoPlace = `waiting: other windows read the ${kPlaces.length} streams that this browser may have; hide or close one of them`;

// Awaits use() in a place, which is free again afterwards. onWait(): none is free now; one is waited for, until signal is aborted.
// Browsers have locks for pages over TLS and for those of their own machine; on any other page use() begins at once.
export async function inPlace(signal, onWait, use) {
  const locks = globalThis.navigator?.locks;
  if (!locks || signal.aborted) return use();
  const search = new AbortController();
  const end = () => search.abort();
  signal.addEventListener('abort', end, {signal: search.signal});
  const take = async (lock) => {
    if (lock === null || search.signal.aborted) return;
    end();
    await use();
  };
  for (const place of kPlaces) {
    await locks.request(place, {ifAvailable: true}, take);
    if (search.signal.aborted) return;
  }
  onWait();
  const wait = (place) => locks.request(place, {signal: search.signal}, take)
    .catch((error) => { if (error !== search.signal.reason) throw error; });
  await Promise.all(kPlaces.map(wait));
}
