import { type DurableCall, storedState } from "./DurableCall.ts";
import { answerRequests, expireRequests, receiveEvents } from "../waiting/answerRequests.ts";

/** Records the answers of a resume. */
export async function recordAnswers(
  { setup, journal }: DurableCall,
  answers: Readonly<Record<string, unknown>>,
): Promise<void> {
  const given = Object.entries(answers).map(([requestId, answer]) => [requestId, { answer }] as const);
  const action = () => answerRequests(setup, journal, storedState(journal), new Map(given));
  await (setup.telemetry ? setup.telemetry.answer(journal.agentId, Object.keys(answers), action) : action());
  await journal.readHead();
}

/** Receives events and expires requests before the run continues. Returns the requests that received an event. */
export async function endRequests({ setup, journal }: DurableCall): Promise<readonly string[]> {
  const stored = storedState(journal);
  const received = stored ? await receiveEvents(setup, journal, stored) : [];
  if (received.length > 0) await journal.readHead();
  const left = storedState(journal);
  if (left && (await expireRequests(journal, left))) await journal.readHead();
  return received;
}
