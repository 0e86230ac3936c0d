import { AsyncLocalStorage } from "node:async_hooks";
import { abortable } from "../../internal/abortable.ts";

/** The end of the last started or waiting action, by directory. */
const ends = new Map<string, Promise<void>>();
/** The directories in which the current code already has its turn. */
const ownTurns = new AsyncLocalStorage<readonly string[]>();

/**
 * Runs the actions of this process in a directory one at a time, so that each detects only its changes. A nested action
 * runs immediately.
 *
 * @throws the reason of the signal if it aborts before the action starts
 */
export async function inFolderTurn<Result>(
  folder: string,
  signal: AbortSignal,
  action: () => Promise<Result>,
): Promise<Result> {
  const own = ownTurns.getStore() ?? [];
  if (own.includes(folder)) return action();
  const before = ends.get(folder) ?? Promise.resolve();
  let resolve: () => void = () => undefined;
  const ended = new Promise<void>((fulfill) => (resolve = fulfill));
  const end = before.then(() => ended);
  ends.set(folder, end);
  try {
    await abortable(signal, () => before);
    return await ownTurns.run([...own, folder], action);
  } finally {
    resolve();
    if (ends.get(folder) === end) ends.delete(folder);
  }
}
