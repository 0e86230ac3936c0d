import { formatVersion } from "../../../checkpoint/format/formatVersion.ts";
import type { Claim } from "../layout/controlLine.ts";
import type { OwnerLiveness, Surroundings } from "./OwnerLiveness.ts";
import type { SegmentPublisher } from "./SegmentPublisher.ts";

/** What the parts of one file storage share. */
export interface FileBackend extends Surroundings {
  /** The folder that holds the folders of all agents. */
  readonly tasks: string;
  readonly judge: OwnerLiveness;
  readonly publisher: SegmentPublisher;
}

/** What an owner of this process claims a segment with. */
export function newClaim({ identity }: FileBackend, agentId: string, generation: number, nonce: string): Claim {
  const { host, bootId, pidNamespace, processId, processStart } = identity;
  return { format: formatVersion, agentId, generation, host, bootId, pidNamespace, processId, processStart, nonce };
}
