import {
  type FileOperation,
  granted,
  type LockEntry,
  type LockState,
  mayHave,
  queued,
  without,
} from "../../../src/workspace/reservations/LockState.ts";

/**
 * The protocol of reservations as a model: processes take one system call at a time, in any order, and may end for ever
 * at any of them; what an ended process had is then over. What is decided is decided by the code itself.
 */
export interface Protocol {
  readonly believes: "what it reads after writing" | "that its link counted";
  readonly trusts: "what is the highest before and after" | "what it reads";
  readonly publishes: "link" | "rename";
  readonly releases: "by a new generation" | "by removing the files";
  readonly expires: "by a new generation" | "by removing the files";
}

export const design: Protocol = {
  believes: "what it reads after writing",
  trusts: "what is the highest before and after",
  publishes: "link",
  releases: "by a new generation",
  expires: "by a new generation",
};

type Step = "list" | "read" | "list again" | "link" | "list to clean" | "unlink" | "hold" | "end" | "dead";

interface Process {
  readonly id: string;
  readonly operation: FileOperation;
  readonly goal: "acquire" | "release";
  readonly rounds: number;
  readonly step: Step;
  readonly number: number;
  readonly next: LockState | undefined;
  readonly wrote: boolean;
  readonly remove: readonly number[];
}

interface World {
  readonly files: Readonly<Record<number, LockState>>;
  readonly processes: readonly Process[];
}

type Change = readonly [Partial<Process>, World["files"]?];

const free: LockState = { path: "a", holders: [], waiting: [] };
const highest = (files: World["files"]) => Math.max(0, ...Object.keys(files).map(Number));

export interface Exploration {
  readonly states: number;
  readonly bad: number;
  /** States in which all have ended: that there are some shows that one can get there. */
  readonly ends: number;
}

/**
 * @param requests the operation of each process and how often it acquires, such as `["write", 1]`.
 * @param stopAtFirst for protocols that are broken on purpose.
 */
export function explore(
  requests: readonly (readonly [FileOperation, number])[],
  deaths: number,
  protocol: Protocol,
  stopAtFirst = false,
): Exploration {
  const processes = requests.map(([operation, rounds], index): Process => {
    const id = `${String.fromCodePoint(97 + index)}${rounds}`;
    const idle = { number: 0, next: undefined, wrote: false, remove: [] };
    return { id, operation, rounds, goal: "acquire", step: "list", ...idle };
  });
  const visited = new Set<string>();
  const stack: World[] = [{ files: {}, processes }];
  let [bad, ends] = [0, 0];
  for (let world = stack.pop(); world !== undefined; world = stack.pop()) {
    const key = keyOf(world);
    if (visited.has(key)) continue;
    visited.add(key);
    if (isBroken(world)) bad++;
    if (bad > 0 && stopAtFirst) break;
    if (world.processes.every(({ step }) => step === "end" || step === "dead")) ends++;
    const died = world.processes.filter(({ step }) => step === "dead").length;
    for (const [index, process] of world.processes.entries()) {
      if (process.step === "end" || process.step === "dead" || isBehindItsLike(world, index, processes)) continue;
      stack.push(changed(world, index, advance(world, process, protocol)));
      if (died < deaths) stack.push(changed(world, index, [{ step: "dead", next: undefined, remove: [] }]));
    }
  }
  return { states: visited.size, bad, ends };
}

/** Of processes that ask for the same, it makes no difference which begins first: they begin in their order. */
function isBehindItsLike(world: World, index: number, atFirst: readonly Process[]): boolean {
  const own = world.processes[index];
  if (own !== atFirst[index]) return false;
  return world.processes.some(
    (other, at) =>
      at < index && other === atFirst[at] && other.operation === own?.operation && other.rounds === own.rounds,
  );
}

/** Two have it, and one of them to write it. */
function isBroken({ processes }: World): boolean {
  const holding = processes.filter(({ step }) => step === "hold");
  return holding.length > 1 && holding.some(({ operation }) => operation === "write");
}

function advance(world: World, process: Process, protocol: Protocol): Change {
  const { files } = world;
  switch (process.step) {
    case "list":
      return [{ number: highest(files), step: "read" }];
    case "read": {
      const state = process.number === 0 ? free : files[process.number];
      if (state === undefined) return [{ step: "list" }];
      if (protocol.trusts === "what it reads") return decide(world, process, state, protocol);
      return [{ step: "list again", next: state }];
    }
    case "list again": {
      const { next: state = free, ...rest } = process;
      if (highest(files) !== process.number) return [{ step: "list", next: undefined }];
      const [change, left] = decide(world, { ...rest, next: undefined }, state, protocol);
      return [{ next: undefined, ...change }, left ?? files];
    }
    case "link":
      return link(files, process, protocol);
    case "list to clean": {
      const lower = Object.keys(files)
        .map(Number)
        .filter((number) => number < highest(files));
      return [lower.length > 0 ? { step: "unlink", remove: lower } : after(process)];
    }
    case "unlink": {
      const [number, ...remove] = process.remove;
      const left = Object.fromEntries(Object.entries(files).filter(([other]) => Number(other) !== number));
      return [remove.length > 0 ? { remove } : { remove, ...after(process) }, left];
    }
    default:
      return [{ goal: "release", step: "list" }];
  }
}

function decide(world: World, process: Process, state: LockState, protocol: Protocol): Change {
  const { id, operation, goal } = process;
  const isOver = (entry: LockEntry) => world.processes.some((other) => other.id === entry.id && other.step === "dead");
  const current = {
    ...state,
    holders: state.holders.filter((entry) => !isOver(entry)),
    waiting: state.waiting.filter((entry) => !isOver(entry)),
  };
  const knows = (entries: readonly LockEntry[]) => entries.some((entry) => entry.id === id);
  if (goal === "release") {
    if (!knows([...state.holders, ...state.waiting])) return [done(process)];
    if (protocol.releases === "by removing the files") return [done(process), {}];
    return [{ next: without(state, id), step: "link" }];
  }
  if (knows(state.holders)) return [done(process)];
  if (protocol.expires === "by removing the files" && current.holders.length < state.holders.length)
    return [{ step: "list" }, {}];
  const entry: LockEntry = { id, owner: id, operation, since: "", expiresAt: "", ttlMs: 1 };
  if (mayHave(current, id, operation)) return [{ next: granted(current, entry), step: "link" }];
  return knows(state.waiting) ? [{ step: "list" }] : [{ next: queued(current, entry), step: "link" }];
}

function link(files: World["files"], process: Process, { publishes, believes }: Protocol): Change {
  const { number, next = free, id } = process;
  const isTaken = files[number + 1] !== undefined && publishes === "link";
  if (isTaken) return [{ step: "list", next: undefined }];
  const holds = next.holders.some((entry) => entry.id === id);
  const step = believes === "that its link counted" && holds ? "hold" : "list";
  return [
    { step, next: undefined, wrote: true },
    { ...files, [number + 1]: next },
  ];
}

const done = (process: Process): Partial<Process> =>
  process.wrote ? { step: "list to clean", wrote: false } : after(process);

function after({ goal, rounds, id }: Process): Partial<Process> {
  if (goal === "acquire") return { step: "hold" };
  if (rounds <= 1) return { step: "end" };
  return { step: "list", goal: "acquire", rounds: rounds - 1, id: `${id.charAt(0)}${rounds - 1}` };
}

function changed(world: World, index: number, [process, files = world.files]: Change): World {
  return { files, processes: world.processes.map((other, at) => (at === index ? { ...other, ...process } : other)) };
}

function keyOf({ files, processes }: World): string {
  const ids = (state: LockState | undefined) =>
    state && `${state.holders.map(({ id }) => id).join(",")}/${state.waiting.map(({ id }) => id).join("")}`;
  const written = Object.entries(files).map(([number, state]) => `${number}${ids(state)}`);
  const standing = processes.map(({ step, goal, rounds, number, next, wrote, remove }) =>
    [step, goal, rounds, number, ids(next), wrote, remove].join(),
  );
  return `${written.join(" ")}#${standing.join("#")}`;
}
