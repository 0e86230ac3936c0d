import { formatVersion } from "../../../checkpoint/format/formatVersion.ts";
import type { Clock } from "../../../internal/Clock.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { ProcessIdentity } from "../../../node/ProcessIdentity.ts";
import type { Claim } from "../format/controlLine.ts";
import type { OwnerLiveness } from "./OwnerLiveness.ts";
import type { SegmentPublisher } from "./SegmentPublisher.ts";

/** What the parts of one file storage share. */
export interface FileBackend {
  /** The folder that holds the folders of all agents. */
  readonly tasks: string;
  readonly disk: Disk;
  readonly sha256: Sha256;
  readonly clock: Clock;
  readonly identity: ProcessIdentity;
  readonly leaseMs: number;
  readonly judge: OwnerLiveness;
  readonly publisher: SegmentPublisher;
}

/** What an owner of this process claims a segment with. */
export function newClaim({ identity }: FileBackend, agentId: string, generation: number, nonce: string): Claim {
  const { host, bootId, pidNamespace, processId, processStart } = identity;
  return { format: formatVersion, agentId, generation, host, bootId, pidNamespace, processId, processStart, nonce };
}
