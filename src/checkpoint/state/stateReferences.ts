import type { BlobCell, BlobCells } from "../values/BlobCell.ts";
import { addBlobReference } from "../records/blobReferences.ts";
import type { Visit } from "../records/Visit.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import { nextVisitOf, type AgentState } from "./AgentState.ts";
import { byValue } from "./leanState.ts";

/**
 * Returns the blobs that a run needs to continue from a state: in history, storage, settings, and the next visit.
 *
 * @param known An earlier state. Messages at the same position in it are omitted.
 */
export function stateReferences(state: AgentState, known?: AgentState): BlobCells {
  const references = new Map<string, BlobCell>();
  const { history, storage, settings, structure, checkpoint, run } = state;
  const own = [settings?.parameters, structure?.structure, checkpoint?.record.input, run?.input];
  const messages = history.filter((entry, at) => entry !== known?.history[at]).map(({ message }) => message);
  for (const slot of [...messages, ...storage.values(), ...own]) addBlobReference(byValue(slot, state), references);
  for (const slot of slotsOfVisit(state, nextVisitOf(state)[0])) addBlobReference(slot, references);
  return references;
}

function slotsOfVisit({ answers, calls, requests, notes }: AgentState, base: number): readonly StoredValue[] {
  const isOfVisit = ({ visit }: { readonly visit: Visit }) => visit[0] === base;
  return [
    ...[...answers.values()].filter(isOfVisit).map(({ message }) => message),
    ...[...calls.values()]
      .filter(isOfVisit)
      .flatMap(({ intent, outcome }) => [intent?.input, outcome?.input, outcome?.output]),
    ...[...requests.values()]
      .filter(({ record }) => isOfVisit(record))
      .flatMap(({ record, reply }) => [record.prompt, record.schema, record.approval?.input, reply?.answer]),
    ...notes.filter(({ call = "" }) => calls.get(call)?.visit[0] === base).map(({ value }) => value),
  ];
}
