import { formatVersion } from "../../../checkpoint/records/Entry.ts";
import type { StatusIndex } from "../index/StatusIndex.ts";
import type { Claim } from "../layout/controlLine.ts";
import { processFacts } from "../../../nodejs/ProcessIdentity.ts";
import type { DiskReserve } from "./DiskReserve.ts";
import type { OwnerLiveness, Surroundings } from "./OwnerLiveness.ts";
import type { SegmentPublisher } from "./SegmentPublisher.ts";

export interface FileBackend extends Surroundings {
  readonly tasks: string;
  readonly index: StatusIndex;
  readonly judge: OwnerLiveness;
  readonly publisher: SegmentPublisher;
  readonly reserve: DiskReserve;
}

export function newClaim(
  { identity, leaseMs }: FileBackend,
  agentId: string,
  generation: number,
  nonce: string,
): Claim {
  return { format: formatVersion, agentId, generation, ...processFacts(identity), nonce, leaseMs };
}
