import { advance, initialWorld, powerCuts, violation, type Protocol, type World } from "./protocol.model.ts";

/** What was found in all states that any order of steps can reach. */
export interface Exploration {
  readonly states: number;
  readonly cuts: number;
  readonly bad: number;
  /** One violation and the steps that lead to it. */
  readonly example: string | undefined;
}

/** @param stopAtFirst for protocols that are broken on purpose. */
export function explore(
  letters: string,
  existing: readonly string[],
  protocol: Protocol,
  stopAtFirst = false,
): Exploration {
  const visited = new Set<string>();
  const verified = new Map<string, string | undefined>();
  const stack = [{ world: initialWorld(letters, existing), path: "" }];
  let [cuts, bad, example] = [0, 0, undefined as string | undefined];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { world, path } = top;
    const files = filesKey(world);
    const key = `${files}#${world.processes.map((process) => Object.values(process).join(";")).join("#")}`;
    if (visited.has(key)) continue;
    visited.add(key);
    // Many states differ only in where a process stands: their files need checking once.
    if (!verified.has(files))
      verified.set(
        files,
        verify(world, protocol, () => cuts++),
      );
    const found = verified.get(files);
    if (found !== undefined) {
      bad++;
      example ??= `${found} after ${path}`;
      if (stopAtFirst) break;
    }
    world.processes.forEach((process, index) => {
      const next = advance(world, index, protocol);
      if (next !== undefined) stack.push({ world: next, path: `${path} ${process.letter}:${process.step},` });
    });
  }
  return { states: visited.size, cuts, bad, example };
}

function verify(world: World, protocol: Protocol, count: () => void): string | undefined {
  const live = violation(world, world.names, world.files, protocol);
  if (live !== undefined) return `live: ${live}`;
  for (const [names, files] of powerCuts(world)) {
    count();
    const found = violation(world, names, files, protocol);
    if (found !== undefined) return `after a power cut: ${found}`;
  }
  return undefined;
}

function filesKey({ names, durable, files, acknowledged, stated, seen }: World): string {
  const written = files.map(({ lines, synced, stuckAt }) => `${lines.join()}/${synced}/${stuckAt ?? ""}`);
  return [pairs(names), pairs(durable), written.join("|"), acknowledged.join(), stated.join(), pairs(seen)].join("~");
}

function pairs(record: Readonly<Record<string, unknown>>): string {
  return Object.keys(record)
    .sort()
    .map((key) => `${key}=${String(record[key])}`)
    .join("&");
}
