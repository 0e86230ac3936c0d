import type { TableClaim, TableSighting } from "../table/LogTable.ts";
import { type DynamoDBBackend, OwnedAgent } from "./OwnedAgent.ts";
import { type LastSlot, stateAttributes } from "./slots/SlotState.ts";
import { sweepDropped } from "./sweepDropped.ts";

const maxAttempts = 100;

/**
 * Takes ownership of an agent. First raises the generation, then stores a claim after the last append. The claim
 * occupies the slot in which the previous owner would append next. Returns `undefined` if the agent has another owner.
 */
export async function takeOver(
  backend: DynamoDBBackend,
  agentId: string,
  claim: TableClaim,
  replaced: TableSighting | undefined,
): Promise<OwnedAgent | undefined> {
  const generation = await backend.heads.take(agentId, claim, replaced);
  if (generation === undefined) return undefined;
  try {
    return await claimSlot(backend, agentId, claim.owner, generation);
  } catch (error) {
    await backend.heads.release(agentId, generation).catch(() => {});
    throw error;
  }
}

async function claimSlot(
  backend: DynamoDBBackend,
  agentId: string,
  owner: string,
  taken: number,
): Promise<OwnedAgent | undefined> {
  let generation = taken;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const last = await backend.slots.last(agentId);
    if (last.isClaim && last.generation === generation)
      return finishDrop(backend, { agentId, generation, owner }, last);
    if (last.generation > generation) {
      // Either another owner took over, or the generation item was lost and the slots determine the generation.
      if (!(await backend.heads.raise(agentId, owner, generation, last.generation + 1))) return undefined;
      generation = last.generation + 1;
    } else await backend.slots.claim(agentId, generation, last);
  }
  throw new Error("other owners keep appending to the log");
}

async function finishDrop(
  backend: DynamoDBBackend,
  owner: { readonly agentId: string; readonly generation: number; readonly owner: string },
  { unswept, state }: LastSlot,
): Promise<OwnedAgent | undefined> {
  const { agentId, generation } = owner;
  if (unswept) {
    const { slot } = state;
    await sweepDropped(backend, { agentId, generation: generation - 1, slot, expires: backend.expires() });
    const attributes = { claim: generation, ...stateAttributes(state) };
    if (!(await backend.slots.append(agentId, generation, state, attributes))) return undefined;
  }
  return new OwnedAgent(backend, owner, state);
}
