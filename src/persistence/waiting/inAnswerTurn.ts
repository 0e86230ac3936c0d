import type { RecordLog } from "../../storage/RecordLog.ts";

const endsByLog = new WeakMap<RecordLog, Map<string, Promise<unknown>>>();

/** Gives answers to an agent one after another, so that they do not compete for the log. */
export async function inAnswerTurn<Result>(
  log: RecordLog,
  agentId: string,
  answer: () => Promise<Result>,
): Promise<Result> {
  const ends = endsByLog.get(log) ?? new Map<string, Promise<unknown>>();
  endsByLog.set(log, ends);
  const turn = (ends.get(agentId) ?? Promise.resolve()).then(answer);
  const end = turn.catch(() => undefined);
  ends.set(agentId, end);
  try {
    return await turn;
  } finally {
    if (ends.get(agentId) === end) ends.delete(agentId);
  }
}
