import type { AgentCheckpointData } from "../../../checkpoint/data/AgentCheckpointData.ts";
import { checkSchema, strictOptions } from "../../../internal/options/checkSchema.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../../storage/PersistenceStorageProvider.ts";
import {
  type ConformanceTest,
  defineConformanceTest,
  type Expectations,
  functionOrLeftOut,
  type LeftOut,
  type LeftOutParts,
} from "../../support/Expectations.ts";

/** A conformance test of a three-method provider. */
export type ProviderTest = ConformanceTest<PersistenceStorageProvider | ProviderHarness>;

export function providerTest(
  name: string,
  body: (storage: ProviderUnderTest, expect: Expectations) => Promise<void>,
): ProviderTest {
  const prepare = (made: PersistenceStorageProvider | ProviderHarness, leftOut: LeftOutParts) =>
    new ProviderUnderTest(made, leftOut);
  return defineConformanceTest(name, prepare, body);
}

export class ProviderUnderTest {
  readonly #reopen: NonNullable<ProviderHarness["reopen"]>;
  readonly #leftOut: LeftOutParts | undefined;
  #provider: PersistenceStorageProvider;

  constructor(made: PersistenceStorageProvider | ProviderHarness, leftOut?: LeftOutParts) {
    const { provider, reopen = { leftOut: "the harness has none" } } = harnessOf(made);
    this.#provider = provider;
    this.#reopen = reopen;
    this.#leftOut = leftOut;
  }

  /** Saves a copy, so that the provider cannot change the data of the test. */
  save(data: AgentCheckpointData): Promise<void> {
    return this.hand(structuredClone(data));
  }

  async hand(data: AgentCheckpointData): Promise<void> {
    await this.#provider.saveCheckpoint(data.agentId, data);
  }

  async saveAll(all: readonly AgentCheckpointData[]): Promise<void> {
    for (const data of all) await this.save(data);
  }

  all(agentId: string): Promise<readonly AgentCheckpointData[]> {
    return this.#provider.getCheckpoints(agentId);
  }

  latest(agentId: string): Promise<AgentCheckpointData | undefined> {
    return this.#provider.getLatestCheckpoint(agentId);
  }

  async reopen(): Promise<void> {
    if (typeof this.#reopen === "function") this.#provider = await this.#reopen();
    else this.#leftOut?.add("reopen", this.#reopen);
  }

  /** Expects exactly these checkpoints, oldest first. The last of them must be the latest checkpoint. */
  async expectStored(agentId: string, expected: readonly AgentCheckpointData[], expect: Expectations): Promise<void> {
    const name = JSON.stringify(agentId.length > 40 ? `${agentId.slice(0, 40)}…` : agentId);
    const found = await this.all(agentId);
    expect.isTrue(`the result of getCheckpoints for agent ${name}`, Array.isArray(found), "an array", found);
    const [versions, expectedVersions] = [found, expected].map((all) => all.map(({ version }) => version));
    expect.equal(`the versions of the checkpoints of agent ${name}`, versions, expectedVersions);
    for (const [index, data] of expected.entries())
      expect.equal(`checkpoint ${data.version} of agent ${name}`, comparable(found[index]), comparable(data));
    const latest = await this.latest(agentId);
    expect.equal(`the latest checkpoint of agent ${name}`, comparable(latest), comparable(expected.at(-1)));
  }
}

/** Removes the checksum, which each storage may compute differently. */
function comparable(data: AgentCheckpointData | undefined): object | undefined {
  if (typeof data !== "object" || data === null) return data;
  const { checksum: _checksum, ...rest } = data;
  return rest;
}

const harnessSchema = strictOptions(() => ({
  provider: providerSchema,
  reopen: functionOrLeftOut.optional(),
}));

function harnessOf(made: PersistenceStorageProvider | ProviderHarness | undefined): ProviderHarness {
  const harness = (made as Partial<PersistenceStorageProvider> | undefined)?.saveCheckpoint ? { provider: made } : made;
  checkSchema(harnessSchema, harness, "harness of a provider");
  return harness as ProviderHarness;
}

/** A provider to test, with an optional control. */
export interface ProviderHarness {
  readonly provider: PersistenceStorageProvider;
  /**
   * Returns another provider on the same data, like a new process, and may close the first provider. For a storage
   * without this ability, pass the reason as `{ leftOut }`. Without this member, the suite continues with the first
   * provider and reports that no restart was tested.
   */
  readonly reopen?: (() => PersistenceStorageProvider | PromiseLike<PersistenceStorageProvider>) | LeftOut | undefined;
}
