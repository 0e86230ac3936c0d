import type { AgentCheckpointData } from "../../../src/checkpoint/data/AgentCheckpointData.ts";
import type { PersistenceStorageProvider } from "../../../src/storage/PersistenceStorageProvider.ts";
import type { ProviderHarness } from "../../../src/testing.ts";
import {
  assigned,
  bufferingOne,
  keepingInAnObject,
  keepingObjects,
  keyed,
  latest,
  mapTexts,
  namingCheckpointsAlone,
  reading,
  readingByPrefix,
  saving,
  savingLater,
} from "./alteredProviders.ts";
import { TextProvider } from "../TextProvider.ts";

type Data = AgentCheckpointData;

/** A provider with one mistake, and the test that must find it. */
export interface BrokenProvider {
  readonly mistake: string;
  readonly caughtBy: string;
  readonly make: () => PersistenceStorageProvider | ProviderHarness;
}

/** Mistakes that people make when they write a provider. */
export const brokenProviders: readonly BrokenProvider[] = [
  {
    mistake: "returns the newest first",
    caughtBy: "returns checkpoints oldest first",
    make: () => reading((all) => all.toReversed()),
  },
  {
    mistake: "finds the latest by its time",
    caughtBy: "finds the latest checkpoint by version, even if the clock was set back",
    make: () => latest((all) => all.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)).at(-1)),
  },
  {
    mistake: "takes the first of those with the newest time",
    caughtBy: "keeps the order of checkpoints made in one millisecond",
    make: () => latest((all) => all.find(({ createdAt }) => all.every((other) => createdAt >= other.createdAt))),
  },
  {
    mistake: "sorts versions as text",
    caughtBy: "accepts gaps of any size between versions",
    make: () => reading((all) => all.toSorted((a, b) => (String(a.version) < String(b.version) ? -1 : 1))),
  },
  {
    mistake: "keeps versions in 32 bits",
    caughtBy: "accepts gaps of any size between versions",
    make: () => saving((data) => ({ ...data, version: data.version | 0 })),
  },
  {
    mistake: "reads one page",
    caughtBy: "keeps 200 checkpoints of one agent",
    make: () => reading((all) => all.slice(0, 100)),
  },
  {
    mistake: "keeps one checkpoint for a node",
    caughtBy: "keeps earlier checkpoints of the same node",
    make: () =>
      reading((all) =>
        all.filter(({ nodeId }, index) => all.findLastIndex((data) => data.nodeId === nodeId) === index),
      ),
  },
  {
    mistake: "finds a checkpoint of a branch as the latest",
    caughtBy: "keeps checkpoints of parallel branches",
    make: () => latest((all) => all.at(-1)),
  },
  {
    mistake: "omits checkpoints of branches",
    caughtBy: "keeps checkpoints of parallel branches",
    make: () => reading((all) => all.filter(({ branch }) => branch === undefined)),
  },
  {
    mistake: "keeps one checkpoint for a node and its input",
    caughtBy: "keeps checkpoints of parallel branches",
    make: () =>
      reading((all) =>
        all.filter(
          ({ nodeId, lastInput }, index) =>
            all.findIndex((data) => data.nodeId === nodeId && data.lastInput === lastInput) === index,
        ),
      ),
  },
  {
    mistake: "keeps the line of the latest checkpoint only",
    caughtBy: "keeps branches: two checkpoints with one parent, and two runs",
    make: () =>
      reading((all) =>
        all.filter(({ parentId }, index) => all.findLastIndex((data) => data.parentId === parentId) === index),
      ),
  },
  {
    mistake: "names checkpoints without regard to case",
    caughtBy: "separates checkpoints with similar ids",
    make: () => reading((all) => [...new Map(all.map((data) => [data.checkpointId.toLowerCase(), data])).values()]),
  },
  {
    mistake: "names checkpoints without their agent",
    caughtBy: "separates agents that use the same ids for checkpoints and runs",
    make: namingCheckpointsAlone,
  },
  {
    mistake: "reads by the beginning of an agent id",
    caughtBy: "separates agents with ids that are prefixes of each other",
    make: readingByPrefix,
  },
  {
    mistake: "joins agent id and version with a delimiter that ids may hold",
    caughtBy: "separates agents with ids with delimiters",
    make: () => keyed((agentId) => agentId.replaceAll(/[/:|#.,_ %*?]/g, "-")),
  },
  {
    mistake: "takes agent ids without regard to case",
    caughtBy: "separates agents with ids that differ in case only",
    make: () => keyed((agentId) => agentId.toLowerCase()),
  },
  {
    mistake: "normalizes agent ids",
    caughtBy: "separates agents with ids in Unicode",
    make: () => keyed((agentId) => agentId.normalize("NFC")),
  },
  {
    mistake: "trims agent ids",
    caughtBy: "separates agents with ids with spaces and control characters",
    make: () => keyed((agentId) => agentId.trim()),
  },
  {
    mistake: "cuts agent ids at a NUL",
    caughtBy: "separates agents with ids with spaces and control characters",
    make: () => keyed((agentId) => agentId.split("\0")[0] ?? ""),
  },
  {
    mistake: "cuts long agent ids",
    caughtBy: "separates agents with ids that are long",
    make: () => keyed((agentId) => agentId.slice(0, 255)),
  },
  {
    mistake: "cuts agent ids at 1,000 characters",
    caughtBy: "separates agents with ids that are long",
    make: () => keyed((agentId) => agentId.slice(0, 1_000)),
  },
  {
    mistake: "resolves agent ids as paths",
    caughtBy: "separates agents with ids that look like paths",
    make: () =>
      keyed((agentId) => new URL(agentId.replaceAll("\\", "/").replaceAll("%", "%25"), "file:///base/").pathname),
  },
  {
    mistake: "keeps agents as the members of an object",
    caughtBy: "separates agents with ids named as members of objects",
    make: keepingInAnObject,
  },
  {
    mistake: "keeps the caller's object",
    caughtBy: "keeps a saved checkpoint when the caller changes its object later",
    make: () =>
      keepingObjects(
        (given) => given,
        (kept) => structuredClone(kept),
      ),
  },
  {
    mistake: "hands out its own object",
    caughtBy: "keeps stored checkpoints when a caller changes the result of getCheckpoints",
    make: () =>
      keepingObjects(
        (given) => structuredClone(given),
        (kept) => kept,
      ),
  },
  {
    mistake: "copies only the outermost object",
    caughtBy: "keeps the stored checkpoint when a caller changes the result of getLatestCheckpoint",
    make: () =>
      keepingObjects(
        (given) => structuredClone(given),
        (kept) => ({ ...kept }),
      ),
  },
  {
    mistake: "puts its own fields into what it is given",
    caughtBy: "does not change the checkpoint of the caller",
    make: () => saving((data) => Object.assign(data, { storage: { ...data.storage, savedAt: 1 } })),
  },
  {
    mistake: "loses keys named __proto__",
    caughtBy: "keeps an own key __proto__",
    make: () => saving((data) => assigned(data) as Data),
  },
  {
    mistake: "writes text as UTF-8 without escaping",
    caughtBy: "keeps halves of surrogate pairs",
    make: () => saving((data) => mapTexts(data, (text) => text.replaceAll(/\p{Surrogate}/gu, "\ufffd")) as Data),
  },
  {
    mistake: "takes texts that look like dates for dates",
    caughtBy: "keeps text that looks like another type",
    make: () =>
      reading((all) =>
        all.map((data) => mapTexts(data, (text) => (/^\d{4}-.*Z$/.test(text) ? new Date(text) : text)) as Data),
      ),
  },
  {
    mistake: "decodes what only the library may decode",
    caughtBy: "keeps an encoded value, as this library hands it over",
    make: () =>
      saving((data) => ({
        ...data,
        lastInput: (data.lastInput as { $rich?: object } | null)?.$rich ?? data.lastInput,
      })),
  },
  {
    mistake: "leaves out what is null or empty",
    caughtBy: "keeps empty values",
    make: () =>
      saving(
        (data) =>
          JSON.parse(JSON.stringify(data, (_key, value: unknown) => (value === null ? undefined : value))) as Data,
      ),
  },
  {
    mistake: "fills absent fields with null",
    caughtBy: "does not add missing fields",
    make: () => saving((data) => ({ ...data, model: data.model ?? (null as never) })),
  },
  {
    mistake: "cuts values at its column's width",
    caughtBy: "keeps a megabyte of text",
    make: () => saving((data) => mapTexts(data, (text) => text.slice(0, 65_535)) as Data),
  },
  {
    mistake: "drops the fields that it does not know",
    caughtBy: "keeps every field of a checkpoint",
    make: () => saving(({ revertedToolCallIds: _dropped, ...data }) => data),
  },
  {
    mistake: "gives a list that grows",
    caughtBy: "returns a result that later saves do not extend",
    make: () => keepingObjects((given) => structuredClone(given), undefined),
  },
  {
    mistake: "forgets with its process",
    caughtBy: "returns all checkpoints after it was reopened",
    make: () => ({ provider: new TextProvider(), reopen: () => new TextProvider() }),
  },
  {
    mistake: "answers before it has saved",
    caughtBy: "returns checkpoints oldest first",
    make: savingLater,
  },
  {
    mistake: "keeps in its own memory what it has saved last",
    caughtBy: "continues after it was reopened several times",
    make: () => {
      const table = new Map<string, string[]>();
      return { provider: bufferingOne(table), reopen: () => bufferingOne(table) };
    },
  },
  {
    mistake: "throws for an agent never seen",
    caughtBy: "returns no checkpoints for an unknown agent",
    make: () => latest((all) => all.at(-1) ?? JSON.parse("nothing")),
  },
];
