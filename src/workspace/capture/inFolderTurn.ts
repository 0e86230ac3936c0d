import { AsyncLocalStorage } from "node:async_hooks";
import { abortable } from "../../internal/abortable.ts";

/** By folder, the end of the last action that began or waits. */
const ends = new Map<string, Promise<void>>();
/** The folders that the code that runs has its turn in. */
const ownTurns = new AsyncLocalStorage<readonly string[]>();

/**
 * Runs one action after another in a folder, over all agents of this process: each finds the changes that it made itself. An
 * action within an action runs at once.
 *
 * @throws the reason of the signal if it aborts before the turn comes; the action does not run then.
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
