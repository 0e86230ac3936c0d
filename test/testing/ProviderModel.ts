import fc from "fast-check";
import type { AgentCheckpointData } from "../../src/checkpoint/data/AgentCheckpointData.ts";
import { changeDeeply } from "../../src/testing/support/jsonValues.ts";
import { Expectations } from "../../src/testing/support/Expectations.ts";
import type { ProviderUnderTest } from "../../src/testing/conformance/provider/providerTest.ts";
import { checkpointOf, checkpointSpec, type CheckpointSpec } from "./checkpointSpec.ts";

/** What a provider must hold: the checkpoints of each agent, oldest first. */
export type ProviderModel = Map<string, AgentCheckpointData[]>;

type Command = fc.AsyncCommand<ProviderModel, ProviderUnderTest>;

const agentIds = ["a", "A", "aa", "__proto__", "../a"];
const expect = new Expectations("does as the model");

class Save implements Command {
  readonly #agentId: string;
  readonly #spec: CheckpointSpec;

  constructor(agentId: string, spec: CheckpointSpec) {
    this.#agentId = agentId;
    this.#spec = spec;
  }

  check(): boolean {
    return true;
  }

  async run(model: ProviderModel, storage: ProviderUnderTest): Promise<void> {
    const before = model.get(this.#agentId) ?? [];
    const data = checkpointOf(this.#agentId, before, this.#spec);
    const handed = structuredClone(data);
    await storage.hand(handed);
    changeDeeply(handed);
    model.set(this.#agentId, [...before, data]);
  }

  toString(): string {
    return `save(${JSON.stringify(this.#agentId)}, ${JSON.stringify(this.#spec)})`;
  }
}

class Read implements Command {
  readonly #agentId: string;

  constructor(agentId: string) {
    this.#agentId = agentId;
  }

  check(): boolean {
    return true;
  }

  async run(model: ProviderModel, storage: ProviderUnderTest): Promise<void> {
    await storage.expectStored(this.#agentId, model.get(this.#agentId) ?? [], expect);
    changeDeeply([await storage.all(this.#agentId), await storage.latest(this.#agentId)]);
  }

  toString(): string {
    return `read(${JSON.stringify(this.#agentId)})`;
  }
}

class Latest implements Command {
  readonly #agentId: string;

  constructor(agentId: string) {
    this.#agentId = agentId;
  }

  check(): boolean {
    return true;
  }

  async run(model: ProviderModel, storage: ProviderUnderTest): Promise<void> {
    const { checkpointId } = (await storage.latest(this.#agentId)) ?? {};
    expect.equal("the latest checkpoint", checkpointId, model.get(this.#agentId)?.at(-1)?.checkpointId);
  }

  toString(): string {
    return `latest(${JSON.stringify(this.#agentId)})`;
  }
}

class Reopen implements Command {
  check(): boolean {
    return true;
  }

  async run(_model: ProviderModel, storage: ProviderUnderTest): Promise<void> {
    await storage.reopen();
  }

  toString(): string {
    return "reopen()";
  }
}

const agentId = fc.constantFrom(...agentIds);

/** Random sequences of what is done to a provider, that end by reading all of it. */
export const providerCommands: fc.Arbitrary<Iterable<Command>> = fc
  .commands<ProviderModel, ProviderUnderTest, false>(
    [
      fc.tuple(agentId, checkpointSpec).map(([id, spec]) => new Save(id, spec)),
      fc.tuple(fc.constant("a"), checkpointSpec).map(([id, spec]) => new Save(id, spec)),
      agentId.map((id) => new Read(id)),
      agentId.map((id) => new Latest(id)),
      fc.constant(new Reopen()),
    ],
    { maxCommands: 16 },
  )
  .map((commands) => commands as Iterable<Command>);

/** Everything that the model holds. */
export async function expectAll(model: ProviderModel, storage: ProviderUnderTest): Promise<void> {
  for (const id of agentIds) await storage.expectStored(id, model.get(id) ?? [], expect);
}
