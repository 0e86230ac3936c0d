/**
 * Waits for all of the work that has begun, also after some of it has failed, so that none of it goes on unseen.
 *
 * @returns the results, in order. @throws the first failure in this order.
 */
export async function together<const Work extends readonly unknown[]>(
  ...work: Work
): Promise<{ -readonly [At in keyof Work]: Awaited<Work[At]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
