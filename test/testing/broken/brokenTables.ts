import type { TableAppend, TableCreation, TablePublication } from "../../../src/storage.ts";
import { MemoryTable } from "../../storage/table/MemoryTable.ts";
import type { BrokenLog } from "./brokenLogs.ts";
import { inTable } from "../conformance/logsUnderTest.ts";

/** A table that keeps the stop that was asked of the owner before. */
class StopKeepingTable extends MemoryTable {
  override async claim(...given: Parameters<MemoryTable["claim"]>): ReturnType<MemoryTable["claim"]> {
    const { stop } = this.agent(given[0]);
    const generation = await super.claim(...given);
    if (generation !== undefined) this.agent(given[0]).stop = stop;
    return generation;
  }
}

/** A table that keeps what was staged before. */
class StagedKeepingTable extends MemoryTable {
  override stage(agentId: string, generation: number, appends: readonly TableAppend[]): Promise<boolean> {
    return super.stage(agentId, generation, appends, false);
  }
}

/** A table that publishes for any owner. */
class EagerlyPublishingTable extends MemoryTable {
  override publish(agentId: string, _from: number, published: TablePublication): Promise<boolean> {
    return super.publish(agentId, this.agent(agentId).generation, published);
  }
}

/** A table that does not look where an append goes. */
class AnywhereAppendingTable extends MemoryTable {
  override async append(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    const agent = this.agent(agentId);
    if (agent.owner === undefined || agent.generation !== generation) return false;
    const { losesAnswer } = this;
    agent.rows.push({ ...append, encoded: append.encoded.slice() });
    agent.summary = append.summary ?? agent.summary;
    this.losesAnswer = false;
    if (losesAnswer) throw new Error("Connection terminated unexpectedly");
    return true;
  }
}

/** A table that keeps an append at whatever position it names. */
class AnyPositionTable extends MemoryTable {
  override async append(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    const agent = this.agent(agentId);
    if (agent.owner === undefined || agent.generation !== generation) return false;
    const kept = agent.rows.filter(({ position }) => position !== append.position);
    agent.rows = [...kept, append].toSorted((one, other) => one.position - other.position);
    agent.summary = append.summary ?? agent.summary;
    return true;
  }
}

/** A table that does not look whether the owner has renewed since it was seen. */
class BeatIgnoringTable extends MemoryTable {
  override claim(...[agentId, claim, replaced]: Parameters<MemoryTable["claim"]>): ReturnType<MemoryTable["claim"]> {
    return super.claim(agentId, claim, replaced && { ...replaced, beat: this.agent(agentId).beat });
  }
}

/** A table that drops for any owner. */
class EagerlyDroppingTable extends MemoryTable {
  override drop(agentId: string): Promise<boolean> {
    return super.drop(agentId, this.agent(agentId).generation);
  }
}

/** A table that creates agents that were deleted. */
class RecreatingTable extends MemoryTable {
  override create(agents: readonly TableCreation[]): Promise<readonly string[]> {
    for (const [agentId, { rows, owner }] of this.agents)
      if (rows.length === 0 && owner === undefined) this.agents.delete(agentId);
    return super.create(agents);
  }
}

/** A table that creates agents without their summary. */
class UnlistedTable extends MemoryTable {
  override create(agents: readonly TableCreation[]): Promise<readonly string[]> {
    return super.create(agents.map(({ agentId, append: { summary: _summary, ...append } }) => ({ agentId, append })));
  }
}

/** A table that reports agents as created even if they exist. */
class PromisingTable extends MemoryTable {
  override async create(agents: readonly TableCreation[]): Promise<readonly string[]> {
    await super.create(agents);
    return agents.map(({ agentId }) => agentId);
  }
}

const stopped = "does not stop the next owner after a stop request to a replaced owner";
const cutShort = "receives lines after an interrupted copy, whose lines are ignored";
const onlyBehind = "a table stores an append only for its owner and directly after the last append";
const lostAnswer = "stores an append once if its response was lost, and ends the ownership if the append failed";

/** Mistakes of tables that a `TableRecordLog` keeps its rows in. */
export const brokenTables: readonly BrokenLog[] = [
  {
    mistake: "keeps the stop of the owner before when it is claimed",
    caughtBy: stopped,
    make: () => inTable(new StopKeepingTable()),
  },
  {
    mistake: "keeps what was staged before the first of the lines",
    caughtBy: cutShort,
    make: () => inTable(new StagedKeepingTable()),
  },
  {
    mistake: "publishes what an owner staged that was replaced",
    caughtBy: cutShort,
    make: () => inTable(new EagerlyPublishingTable()),
  },
  {
    mistake: "appends wherever the log ends",
    caughtBy: lostAnswer,
    make: () => inTable(new AnywhereAppendingTable()),
  },
  {
    mistake: "stores an append at any position",
    caughtBy: onlyBehind,
    make: () => inTable(new AnyPositionTable()),
  },
  {
    mistake: "claims from an owner that has renewed since it was seen",
    caughtBy: "a table accepts a claim only if the observed owner is unchanged",
    make: () => inTable(new BeatIgnoringTable()),
  },
  {
    mistake: "creates agents again that were deleted",
    caughtBy: "creates no agent that exists, existed or has an owner",
    make: () => inTable(new RecreatingTable()),
  },
  {
    mistake: "creates agents that no list shows",
    caughtBy: "creates several agents with one append each, which nobody owns",
    make: () => inTable(new UnlistedTable()),
  },
  {
    mistake: "reports agents as created that exist",
    caughtBy: "creates no agent that exists, existed or has an owner",
    make: () => inTable(new PromisingTable()),
  },
  {
    mistake: "drops in place of an owner that was replaced",
    caughtBy: "a table ignores all calls of a replaced owner",
    make: () => inTable(new EagerlyDroppingTable()),
  },
];
