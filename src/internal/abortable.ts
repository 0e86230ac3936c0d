import { onAbort } from "./onAbort.ts";

/** Work that is given up when the signal aborts: rejects with the signal's reason then, whether or not the work ends. */
export async function abortable<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  let unlisten: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => (unlisten = onAbort(signal, () => reject(signal.reason))));
  try {
    return await Promise.race([work(), aborted]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    unlisten();
  }
}
