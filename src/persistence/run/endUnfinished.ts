import type { Journal } from "../../journal/Journal.ts";
import { endRecords } from "../../journal/runRecords.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { StoredState } from "../nestedLines/startRecorder.ts";
import { giveBackEvents } from "../waiting/giveBackEvents.ts";

/** Ends the unfinished run as cancelled. @param received Requests that received an event that the run has not read. */
export async function endUnfinished(
  setup: PersistenceSetup,
  journal: Journal,
  stored: StoredState,
  reason: string | undefined,
  received?: readonly string[],
): Promise<void> {
  await giveBackEvents(setup, stored, received);
  journal.append(endRecords(journal, stored, { status: "cancelled", ...(reason !== undefined && { reason }) }));
}
