import type { TableClaim, TableSighting } from "../table/LogTable.ts";
import type { DynamoDBBackend } from "./DynamoDBBackend.ts";
import { OwnedAgent } from "./OwnedAgent.ts";
import type { LastSlot } from "./slots/SlotChain.ts";
import { stateAttributes } from "./slots/SlotState.ts";
import { sweepDropped } from "./sweepDropped.ts";

/** How often another owner may append or claim between. */
const maxAttempts = 100;

/**
 * Makes a new owner. It first gets a generation, and then puts its claim behind the last append, in the place of its own
 * first one: an owner before who still appends finds it there. `undefined`: the agent has another owner.
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
      // Either somebody else came since, or what said the generation is lost: it is counted from the slots then.
      if (!(await backend.heads.raise(agentId, owner, generation, last.generation + 1))) return undefined;
      generation = last.generation + 1;
    } else await backend.slots.claim(agentId, generation, last);
  }
  throw new Error("other owners keep appending to the log");
}

/** Does what is left of a drop in which an owner before crashed. */
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
