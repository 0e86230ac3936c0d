/**
 * Waits until all promises have settled, so that failed work does not leave other work running unobserved.
 *
 * @returns The results in order.
 * @throws The first failure in this order.
 */
export async function together<const Work extends readonly unknown[]>(
  ...work: Work
): Promise<{ -readonly [At in keyof Work]: Awaited<Work[At]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
