import type { AgentCheckpointData } from "agent-persistence";
import { z } from "zod";

const SignUp = z.object({
  toolName: z.literal("signUp"),
  status: z.literal("succeeded"),
  output: z.object({ id: z.int() }),
});

/** A checkpoint, with the ids of the users signed up by then. */
export interface EarlierCheckpoint {
  readonly checkpoint: AgentCheckpointData;
  readonly userIds: ReadonlySet<number>;
}

/** The last checkpoint, in a list from oldest to newest, with at most that many people signed up. */
export function earlierCheckpoint(
  checkpoints: readonly AgentCheckpointData[],
  atMost: number,
): EarlierCheckpoint | undefined {
  let found: EarlierCheckpoint | undefined;
  for (const checkpoint of checkpoints) {
    const userIds = new Set([...(found?.userIds ?? []), ...signedUpIn(checkpoint)]);
    if (userIds.size > atMost) break;
    found = { checkpoint, userIds };
  }
  return found;
}

/** Signed up by the calls that ended between the previous checkpoint and this one. */
function signedUpIn({ toolCalls }: AgentCheckpointData): readonly number[] {
  return toolCalls.flatMap((call) => SignUp.safeParse(call).data?.output.id ?? []);
}
