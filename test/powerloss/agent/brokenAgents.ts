import { LogPersistenceStorageProvider, type OwnedLog } from "agent-persistence/storage";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import type { AgentVariant } from "./AgentStage.ts";
import { changingFiles } from "../delegating.ts";
import type { CheckName } from "../Violation.ts";

/** An agent on a storage that is broken on purpose, and what must notice it. */
export interface BrokenAgent {
  readonly name: string;
  readonly variant: Omit<AgentVariant, "effect">;
  /** Any of them: which crash comes first is random. */
  readonly caughtBy: readonly CheckName[];
}

type Append = OwnedLog["append"];

/** A provider with another `append`. */
function appending(change: (append: Append) => Append): NonNullable<AgentVariant["storage"]> {
  return ({ log }) =>
    new LogPersistenceStorageProvider(
      delegatingLog(log, {}, (owned) => ({ append: change((entry, position) => owned.append(entry, position)) })),
    );
}

const without = (kind: string) =>
  appending((append) => (entry, position) => {
    const records = entry.records.filter((record) => record.kind !== kind);
    return append({ ...entry, records }, position);
  });

/** Each append is acknowledged, and begins only when the next one is asked for. */
const oneLate = appending((append) => {
  let late: () => Promise<unknown> = async () => undefined;
  return async (entry, position) => {
    await late();
    late = () => append(entry, position);
    return position + 1;
  };
});

const unsaid: readonly CheckName[] = ["durable before it has an effect", "the world"];
const lost: readonly CheckName[] = [...unsaid, "acknowledged", "usable"];

export const brokenAgents: readonly BrokenAgent[] = [
  {
    name: "no sync of data",
    variant: { wrap: (fileSystem) => changingFiles(fileSystem, () => ({ fdatasync: async () => {} })) },
    caughtBy: lost,
  },
  {
    name: "appends acknowledged before they are made",
    variant: { storage: oneLate },
    caughtBy: lost,
  },
  {
    name: "calls not recorded before they begin",
    variant: { storage: without("intent") },
    caughtBy: unsaid,
  },
  {
    name: "inverses not recorded before they begin",
    variant: { storage: without("inverse") },
    caughtBy: unsaid,
  },
  {
    name: "the ends of inverses not recorded",
    variant: { storage: without("reverted") },
    caughtBy: ["acknowledged", "not repeated"],
  },
];
