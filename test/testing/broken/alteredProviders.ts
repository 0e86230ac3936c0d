import type { AgentCheckpointData } from "../../../src/checkpoint/data/AgentCheckpointData.ts";
import type { PersistenceStorageProvider } from "../../../src/storage/PersistenceStorageProvider.ts";
import { TextProvider } from "../TextProvider.ts";

type Data = AgentCheckpointData;
type Provider = PersistenceStorageProvider;

/** A provider that keeps something else than it was given. */
export function saving(change: (data: Data) => Data): Provider {
  const inner = new TextProvider();
  return {
    ...methodsOf(inner),
    saveCheckpoint: (agentId, data) => inner.saveCheckpoint(agentId, change(data)),
  };
}

/** A provider that returns something else than it keeps. */
export function reading(change: (all: readonly Data[]) => readonly Data[]): Provider {
  const inner = new TextProvider();
  const getCheckpoints = async (agentId: string) => change(await inner.getCheckpoints(agentId));
  return { ...methodsOf(inner), getCheckpoints };
}

/** A provider that finds another latest checkpoint. */
export function latest(find: (all: readonly Data[]) => Data | undefined): Provider {
  const inner = new TextProvider();
  return { ...methodsOf(inner), getLatestCheckpoint: async (agentId) => find(await inner.getCheckpoints(agentId)) };
}

/** A provider that keeps agents under other names. */
export function keyed(keyOf: (agentId: string) => string): Provider {
  const inner = new TextProvider();
  return {
    saveCheckpoint: (agentId, data) => inner.saveCheckpoint(keyOf(agentId), data),
    getCheckpoints: (agentId) => inner.getCheckpoints(keyOf(agentId)),
    getLatestCheckpoint: (agentId) => inner.getLatestCheckpoint(keyOf(agentId)),
  };
}

/** @param copyOut absent: the list itself is handed out. */
export function keepingObjects(copyIn: (given: Data) => Data, copyOut: ((kept: Data) => Data) | undefined): Provider {
  const table = new Map<string, Data[]>();
  const listOf = (agentId: string) => table.get(agentId) ?? [];
  return {
    saveCheckpoint: async (agentId, data) => {
      const list = listOf(agentId);
      list.push(copyIn(data));
      table.set(agentId, list);
    },
    getCheckpoints: async (agentId) => (copyOut ? listOf(agentId).map(copyOut) : listOf(agentId)),
    getLatestCheckpoint: async (agentId) =>
      listOf(agentId)
        .slice(-1)
        .map(copyOut ?? ((kept) => kept))[0],
  };
}

/** Agents as members of an object. */
export function keepingInAnObject(): Provider {
  const table: Record<string, string[]> = {};
  const all = (agentId: string) => (table[agentId] ?? []).map((text) => JSON.parse(text) as Data);
  return {
    saveCheckpoint: async (agentId, data) => void (table[agentId] ??= []).push(JSON.stringify(data)),
    getCheckpoints: async (agentId) => all(agentId),
    getLatestCheckpoint: async (agentId) => all(agentId).at(-1),
  };
}

/** Checkpoints by their id alone. */
export function namingCheckpointsAlone(): Provider {
  const table = new Map<string, Data>();
  const all = (agentId: string) => [...table.values()].filter((data) => data.agentId === agentId);
  return {
    saveCheckpoint: async (_agentId, data) => void table.set(data.checkpointId, structuredClone(data)),
    getCheckpoints: async (agentId) => structuredClone(all(agentId)),
    getLatestCheckpoint: async (agentId) => structuredClone(all(agentId).at(-1)),
  };
}

/** Agents found by the beginning of their id. */
export function readingByPrefix(): Provider {
  const saved: string[] = [];
  const all = (agentId: string) =>
    saved.map((text) => JSON.parse(text) as Data).filter((data) => data.agentId.startsWith(agentId));
  return {
    saveCheckpoint: async (_agentId, data) => void saved.push(JSON.stringify(data)),
    getCheckpoints: async (agentId) => all(agentId),
    getLatestCheckpoint: async (agentId) => all(agentId).at(-1),
  };
}

/** A provider that answers before it has saved. */
export function savingLater(): Provider {
  const inner = new TextProvider();
  return {
    ...methodsOf(inner),
    saveCheckpoint: async (agentId, data) => void setImmediate(() => void inner.saveCheckpoint(agentId, data)),
  };
}

/** A provider that writes a checkpoint when the next one comes. */
export function bufferingOne(table: Map<string, string[]>): Provider {
  const inner = new TextProvider(table);
  const waiting = new Map<string, Data>();
  const getCheckpoints = async (agentId: string) => {
    const last = waiting.get(agentId);
    return [...(await inner.getCheckpoints(agentId)), ...(last ? [structuredClone(last)] : [])];
  };
  return {
    getCheckpoints,
    getLatestCheckpoint: async (agentId) => (await getCheckpoints(agentId)).at(-1),
    saveCheckpoint: async (agentId, data) => {
      const last = waiting.get(agentId);
      waiting.set(agentId, structuredClone(data));
      if (last !== undefined) await inner.saveCheckpoint(agentId, last);
    },
  };
}

function methodsOf(inner: TextProvider): Provider {
  return {
    saveCheckpoint: (agentId, data) => inner.saveCheckpoint(agentId, data),
    getCheckpoints: (agentId) => inner.getCheckpoints(agentId),
    getLatestCheckpoint: (agentId) => inner.getLatestCheckpoint(agentId),
  };
}

/** A copy by assignment, which sets a prototype where the key is `__proto__`. */
export function assigned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(assigned);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = assigned(item);
  return copy;
}

/** A copy with each text changed. */
export function mapTexts(value: unknown, change: (text: string) => unknown): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}
