/**
 * The file protocol as a model: processes take one system call at a time, in any order; power may be cut and a process may
 * stop for ever at any moment. A line is a text: `claim`, `open <name>:<lines> …`, the id of an append, or `closed <id>`.
 * Lengths count lines. What is checked in every state is in `violation`.
 */

/** What may be varied. `design` is the protocol; each other value but those of the sizes must be caught. */
export interface Protocol {
  readonly checkBeforeAcknowledging: "whole listing" | "next number only" | "none";
  /** When a new owner reads the log and writes its `open`. */
  readonly opening: "with the claim of a closed log" | "after the claim" | "with every claim";
  readonly lastLine: "copied" | "listed" | "listed after a sync";
  readonly folderSync: "before reading" | "after the first line" | "never";
  readonly names: "generation" | "generation and time";
  readonly bases: "all" | "only the one before";
  readonly checkBeforeRemoving: "always" | "not when carrying" | "not when compacting";
  readonly removing: "after the open is synced" | "before the open is synced";
  readonly compaction: "none" | "link" | "rename" | "in place";
  /** Whether a process that is done writes the line that closes the log. */
  readonly closing: boolean;
  /** When `state.json` says that the log reaches an append. */
  readonly summary: "after the sync" | "before the sync";
  /** The first sync of the first owner reports an error, loses the data, and every later one claims success. */
  readonly firstSyncLies: boolean;
  /** How many appends each process makes. */
  readonly appends: number;
  /** Segments up to this many lines are always carried whole. */
  readonly smallSegment: number;
}

export const design: Protocol = {
  checkBeforeAcknowledging: "whole listing",
  opening: "with the claim of a closed log",
  lastLine: "copied",
  folderSync: "before reading",
  names: "generation",
  bases: "all",
  checkBeforeRemoving: "always",
  removing: "after the open is synced",
  compaction: "none",
  closing: true,
  summary: "after the sync",
  firstSyncLies: false,
  appends: 1,
  smallSegment: 0,
};

interface File {
  readonly lines: readonly string[];
  readonly synced: number;
  /** Set when a sync has failed: what the device will ever hold. */
  readonly stuckAt?: number;
}

type Names = Readonly<Record<string, number>>;

interface Process {
  readonly letter: string;
  readonly step: Step;
  readonly name: string;
  readonly file: number;
  readonly made: number;
  readonly tries: number;
  readonly compacted: boolean;
  readonly opening: readonly string[];
  readonly log: readonly string[];
  readonly remove: readonly string[];
}

export interface World {
  readonly names: Names;
  readonly durable: Names;
  readonly files: readonly File[];
  readonly acknowledged: readonly string[];
  /** Appends that some `state.json` has named as the end of the log: after a power cut any of them may be there. */
  readonly stated: readonly string[];
  /** For each append, the log that its writer had seen. */
  readonly seen: Readonly<Record<string, string>>;
  readonly processes: readonly Process[];
}

type Step =
  | "list"
  | "read closed"
  | "link"
  | "sync folder"
  | "check published"
  | "read"
  | "sync old"
  | "write opening"
  | "sync opening"
  | "sync folder late"
  | "check opening"
  | "remove carried"
  | "append"
  | "sync"
  | "check"
  | "acknowledge"
  | "close"
  | "give back"
  | "make compacted"
  | "publish compacted"
  | "sync folder compacted"
  | "check compacted"
  | "remove compacted"
  | "begin in place"
  | "copy in place"
  | "sync in place"
  | "end";

/** The next world and the next step of a process; one system call at most is made. */
type Action = (world: World, process: Process, protocol: Protocol) => readonly [Partial<World>, Partial<Process>];

export const generationOf = (name: string) => Number.parseInt(name, 10);
const byGeneration = (a: string, b: string) => generationOf(b) - generationOf(a) || (a < b ? 1 : -1);
const segmentsOf = (names: Names) => Object.keys(names).sort(byGeneration);
const highest = (names: Names) => generationOf(segmentsOf(names)[0] ?? "0");
const isEntry = (line: string) => line !== "claim" && !line.startsWith("open") && !line.startsWith("closed");
const openIndex = ({ lines }: File) => lines.findIndex((line) => line.startsWith("open"));
const openLine = (base: readonly (readonly [string, number])[]) =>
  ["open", ...base.map(([name, length]) => `${name}:${length}`)].join(" ");
const baseOf = (line: string) =>
  line
    .split(" ")
    .slice(1)
    .map((item): readonly [string, number] => [item.split(":")[0] ?? "", Number(item.split(":")[1])]);
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** One process that owns segment 1 with some lines, and others that all believe its owner to be dead. */
export function initialWorld(letters: string, existing: readonly string[]): World {
  const lines = ["claim", "open", ...existing];
  const idle = { file: -1, made: 0, tries: 0, compacted: false, opening: [], log: [], remove: [] };
  const processes = letters
    .split("")
    .map((letter, index): Process =>
      index === 0
        ? { ...idle, letter, step: "append", name: "1", file: 0, log: existing }
        : { ...idle, letter, step: "list", name: "" },
    );
  const seen = Object.fromEntries(existing.map((id, index) => [id, existing.slice(0, index).join()]));
  return {
    names: { 1: 0 },
    durable: { 1: 0 },
    files: [{ lines, synced: lines.length }],
    acknowledged: existing,
    stated: existing,
    seen,
    processes,
  };
}

/** The log as any reader finds it; a text says what a reader would have to refuse. */
export function readLog(
  names: Names,
  files: readonly File[],
  protocol: Protocol,
  below = Number.POSITIVE_INFINITY,
): readonly string[] | string {
  for (const name of segmentsOf(names)) {
    const file = files[names[name] ?? -1];
    if (generationOf(name) >= below || file === undefined || openIndex(file) < 0) continue;
    const base =
      protocol.bases === "all"
        ? linesOfAll(names, files, baseOf(file.lines[openIndex(file)] ?? ""))
        : linesOfChain(names, files, file);
    if (typeof base === "string") return base;
    const log = [...base, ...file.lines.filter(isEntry)];
    const last = file.lines.at(-1) ?? "";
    const differs = last.startsWith("closed ") && last !== `closed ${log.at(-1) ?? ""}`;
    return differs ? `segment ${name} ends with ${last}` : log;
  }
  return [];
}

function linesOfAll(
  names: Names,
  files: readonly File[],
  base: readonly (readonly [string, number])[],
): readonly string[] | string {
  const lines: string[] = [];
  for (const [name, length] of base) {
    const file = files[names[name] ?? -1];
    if (file === undefined) return `segment ${name} is missing`;
    if (file.lines.length < length) return `segment ${name} is shorter than listed`;
    lines.push(...file.lines.slice(0, length).filter(isEntry));
  }
  return lines;
}

/** For the variant in which an open names only the segment before: what lies before that is its own affair. */
function linesOfChain(names: Names, files: readonly File[], file: File): readonly string[] | string {
  const [previous] = baseOf(file.lines[openIndex(file)] ?? "open");
  if (previous === undefined) return [];
  const lines = linesOfAll(names, files, [previous]);
  const before = files[names[previous[0]] ?? -1];
  if (typeof lines === "string" || before === undefined) return lines;
  const lower = segmentsOf(names).find((name) => generationOf(name) < generationOf(previous[0]));
  const voided = openIndex(before) < 0 && lower !== undefined;
  const deeper = voided
    ? readLog(names, files, { bases: "only the one before" } as Protocol, generationOf(previous[0]))
    : linesOfChain(names, files, before);
  return typeof deeper === "string" ? deeper : [...deeper, ...lines];
}

/** The opening of a new segment: lines to copy and the `open`, by the rules of take-over and of sizes. */
function openingOf(world: World, generation: number, protocol: Protocol): readonly string[] {
  const lower = segmentsOf(world.names).filter((name) => generationOf(name) < generation);
  const chained = protocol.bases === "only the one before";
  const newest = lower.find(
    (name) => chained || openIndex(world.files[world.names[name] ?? -1] ?? { lines: [], synced: 0 }) >= 0,
  );
  const { lines } = world.files[world.names[newest ?? ""] ?? -1] ?? { lines: [] };
  if (newest === undefined) return [openLine([])];
  if (chained) return [openLine([[newest, lines.length]])];
  const openAt = lines.findIndex((line) => line.startsWith("open"));
  const base = baseOf(lines[openAt] ?? "");
  if (protocol.lastLine !== "copied") return [openLine([...base, [newest, lines.length]])];
  const last = lines.findLastIndex(isEntry);
  if (last < openAt) return carriedBySize(world, base, lines.filter(isEntry), protocol);
  return carriedBySize(world, [...base, [newest, last]], lines.slice(last, last + 1), protocol);
}

function carriedBySize(
  world: World,
  base: readonly (readonly [string, number])[],
  carry: readonly string[],
  protocol: Protocol,
): readonly string[] {
  const newer = (index: number) => carry.length + sum(base.slice(index + 1).map(([, length]) => length));
  const first = base.findIndex(([, length], index) => length <= Math.max(protocol.smallSegment, newer(index)));
  const whole = first < 0 ? [] : base.slice(first);
  const lines = linesOfAll(world.names, world.files, whole);
  return [...(typeof lines === "string" ? [] : lines), ...carry, openLine(first < 0 ? base : base.slice(0, first))];
}

const write = (world: World, { file }: Process, lines: readonly string[]) =>
  world.files.map((other, index) => (index === file ? { ...other, lines: [...other.lines, ...lines] } : other));

const sync = (world: World, file: number) =>
  world.files.map((other, index) =>
    index === file && other.stuckAt === undefined ? { ...other, synced: other.lines.length } : other,
  );

const lastStep = ({ closing }: Protocol): Step => (closing ? "close" : "end");
const afterOpening = ({ folderSync }: Protocol): Step =>
  folderSync === "after the first line" ? "sync folder late" : "append";
const lowerThan = (names: Names, generation: number) =>
  segmentsOf(names)
    .filter((name) => generationOf(name) < generation)
    .reverse();

/** Lower segments that the opening does not list. */
const superfluous = ({ names }: World, { name, opening }: Process) => {
  const listed = new Set(baseOf(opening.at(-1) ?? "").map(([other]) => other));
  return lowerThan(names, generationOf(name)).filter((other) => !listed.has(other));
};

function removeNext(world: World, process: Process, next: Step): ReturnType<Action> {
  const [name, ...rest] = process.remove;
  const names = Object.fromEntries(Object.entries(world.names).filter(([other]) => other !== name));
  return [{ names }, { remove: rest, step: rest.length > 0 ? process.step : next }];
}

const actions: Readonly<Record<Exclude<Step, "end">, Action>> = {
  list: ({ names, files }, { letter }, protocol) => {
    const generation = highest(names) + 1;
    const last = files[names[segmentsOf(names)[0] ?? ""] ?? -1]?.lines.at(-1) ?? "";
    const isEarly =
      protocol.opening === "with every claim" ||
      (protocol.opening === "with the claim of a closed log" && last.startsWith("closed"));
    const name = protocol.names === "generation" ? `${generation}` : `${generation}-${letter}`;
    return [{}, { name, opening: [], step: isEarly ? "read closed" : "link" }];
  },
  "read closed": (world, { name }, protocol) => {
    const log = readLog(world.names, world.files, protocol, generationOf(name));
    // A segment was removed while the log was read, so a newer one exists.
    if (typeof log === "string") return [{}, { step: "list" }];
    return [{}, { log, opening: openingOf(world, generationOf(name), protocol), step: "link" }];
  },
  link: ({ names, files }, { name, tries, opening }, { folderSync }) => {
    if (names[name] !== undefined) return [{}, { opening: [], tries: 1, step: tries > 0 ? "end" : "list" }];
    const lines = ["claim", ...opening];
    const step = opening.length > 0 ? "check published" : "read";
    return [
      { names: { ...names, [name]: files.length }, files: [...files, { lines, synced: lines.length }] },
      { file: files.length, step: folderSync === "before reading" ? "sync folder" : step },
    ];
  },
  "sync folder": ({ names }, { opening }) => [
    { durable: names },
    { step: opening.length > 0 ? "check published" : "read" },
  ],
  "check published": (world, process, protocol) => {
    if (highest(world.names) > generationOf(process.name)) return [{}, { step: "give back" }];
    const remove = protocol.bases === "all" ? superfluous(world, process) : [];
    return [{}, { remove, step: remove.length > 0 ? "remove carried" : afterOpening(protocol) }];
  },
  read: (world, { name }, protocol) => {
    const opening = openingOf(world, generationOf(name), protocol);
    return [{}, { opening, step: protocol.lastLine === "listed after a sync" ? "sync old" : "write opening" }];
  },
  "sync old": (world, { opening }) => {
    const listed = baseOf(opening.at(-1) ?? "").map(([name]) => world.names[name] ?? -1);
    return [
      { files: listed.reduce((files, file) => sync({ ...world, files }, file), world.files) },
      { step: "write opening" },
    ];
  },
  "write opening": (world, process, protocol) => {
    const files = write(world, process, process.opening);
    const log = readLog(
      { [process.name]: process.file, ...world.names },
      files,
      protocol,
      generationOf(process.name) + 1,
    );
    // A reader that cannot read does not go on.
    if (typeof log === "string") return [{ files }, { step: "end" }];
    const early = protocol.removing === "before the open is synced" ? superfluous(world, process) : [];
    return [{ files }, { log, remove: early, step: early.length > 0 ? "remove carried" : "sync opening" }];
  },
  "sync opening": (world, process, protocol) => {
    const remove = protocol.lastLine === "copied" && protocol.bases === "all" ? superfluous(world, process) : [];
    const step = remove.length === 0 ? afterOpening(protocol) : "check opening";
    return [
      { files: sync(world, process.file) },
      {
        remove,
        step:
          step === "check opening" && protocol.checkBeforeRemoving === "not when carrying" ? "remove carried" : step,
      },
    ];
  },
  "check opening": ({ names }, { name }) => [
    {},
    { step: highest(names) > generationOf(name) ? "give back" : "remove carried" },
  ],
  "remove carried": (world, process, protocol) =>
    removeNext(
      world,
      process,
      protocol.removing === "before the open is synced" ? "sync opening" : afterOpening(protocol),
    ),
  "sync folder late": ({ names }) => [{ durable: names }, { step: "append" }],
  append: (world, process, protocol) => {
    const id = `${process.letter}${process.made}`;
    const stated = protocol.summary === "before the sync" ? [...world.stated, id] : world.stated;
    return [
      { stated, files: write(world, process, [id]), seen: { ...world.seen, [id]: process.log.join() } },
      { step: "sync" },
    ];
  },
  sync: (world, process, protocol) => {
    if (protocol.firstSyncLies && process.letter === "A" && process.made === 0) {
      const files = world.files.map((file, index) =>
        index === process.file ? { ...file, stuckAt: file.synced } : file,
      );
      return [{ files }, { step: "end" }];
    }
    return [
      { files: sync(world, process.file) },
      { step: protocol.checkBeforeAcknowledging === "none" ? "acknowledge" : "check" },
    ];
  },
  check: ({ names }, { name }, protocol) => {
    const next = generationOf(name) + 1;
    const lost =
      protocol.checkBeforeAcknowledging === "whole listing"
        ? highest(names) >= next
        : segmentsOf(names).some((other) => generationOf(other) === next);
    return [{}, { step: lost ? "end" : "acknowledge" }];
  },
  acknowledge: ({ acknowledged, stated }, { letter, made, log, compacted }, protocol) => {
    const id = `${letter}${made}`;
    const more = made + 1 < protocol.appends ? "append" : lastStep(protocol);
    const compact = protocol.compaction === "in place" ? "begin in place" : "make compacted";
    const step = protocol.compaction !== "none" && !compacted && made === 0 ? compact : more;
    const after = protocol.summary === "after the sync" ? [...stated, id] : stated;
    return [
      { acknowledged: [...acknowledged, id], stated: after },
      { made: made + 1, log: [...log, id], step },
    ];
  },
  close: (world, process) => [
    { files: write(world, process, [`closed ${process.log.at(-1) ?? ""}`]) },
    { step: "end" },
  ],
  "give back": (world, process) => [{ files: write(world, process, ["closed"]) }, { step: "end" }],
  "make compacted": ({ files }, { log }) => {
    const lines = ["claim", ...log, "open"];
    return [{ files: [...files, { lines, synced: lines.length }] }, { file: files.length, step: "publish compacted" }];
  },
  "publish compacted": ({ names }, { name, file, letter }, protocol) => {
    const generation = generationOf(name) + 1;
    const next = protocol.names === "generation" ? `${generation}` : `${generation}-${letter}`;
    if (protocol.compaction === "link" && names[next] !== undefined) return [{}, { step: "end" }];
    return [
      { names: { ...names, [next]: file } },
      { name: next, compacted: true, remove: lowerThan(names, generation), step: "sync folder compacted" },
    ];
  },
  "sync folder compacted": ({ names }, _process, protocol) => [
    { durable: names },
    { step: protocol.checkBeforeRemoving === "not when compacting" ? "remove compacted" : "check compacted" },
  ],
  "check compacted": ({ names }, { name }) => [
    {},
    { step: highest(names) > generationOf(name) ? "end" : "remove compacted" },
  ],
  "remove compacted": (world, process, protocol) =>
    removeNext(world, process, process.made < protocol.appends ? "append" : lastStep(protocol)),
  "begin in place": ({ names, files }, { name, log }) => {
    const next = `${generationOf(name) + 1}`;
    if (names[next] !== undefined) return [{}, { step: "end" }];
    return [
      { names: { ...names, [next]: files.length }, files: [...files, { lines: ["claim", "open"], synced: 0 }] },
      {
        name: next,
        file: files.length,
        compacted: true,
        opening: log,
        remove: lowerThan(names, generationOf(next)),
        step: "copy in place",
      },
    ];
  },
  "copy in place": (world, process) => {
    const [line, ...rest] = process.opening;
    return [
      { files: write(world, process, line === undefined ? [] : [line]) },
      { opening: rest, step: rest.length > 0 ? "copy in place" : "sync in place" },
    ];
  },
  "sync in place": (world, { file }) => [{ files: sync(world, file) }, { step: "sync folder compacted" }],
};

/** The world after a process has taken its next step; `undefined` when it has none. */
export function advance(world: World, index: number, protocol: Protocol): World | undefined {
  const process = world.processes[index];
  if (process === undefined || process.step === "end") return undefined;
  const [changed, next] = actions[process.step](world, process, protocol);
  return {
    ...world,
    ...changed,
    processes: world.processes.map((other) => (other === process ? { ...other, ...next } : other)),
  };
}

/** What is wrong with the files for everyone who was told that an append is durable. */
export function violation(
  { acknowledged, stated, seen }: World,
  names: Names,
  files: readonly File[],
  protocol: Protocol,
): string | undefined {
  const log = readLog(names, files, protocol);
  if (typeof log === "string") return log;
  const unstated = stated.find((id) => !log.includes(id));
  if (unstated !== undefined) return `state.json names ${unstated}, and the log does not have it`;
  for (const id of acknowledged) {
    const at = log.indexOf(id);
    if (at < 0) return `acknowledged ${id} is lost`;
    if (log.slice(0, at).join() !== seen[id]) return `${id} was acknowledged over another log than it stands on`;
  }
  return undefined;
}

/** Every state of the files that a power cut may leave: any of the unsynced names, any prefix of the unsynced lines. */
export function* powerCuts({ names, durable, files }: World): Generator<readonly [Names, readonly File[]]> {
  const unsure = [...new Set([...Object.keys(names), ...Object.keys(durable)])].filter(
    (name) => names[name] !== durable[name],
  );
  const lengths = files.map(({ lines, synced, stuckAt }) =>
    stuckAt === undefined ? range(synced, lines.length) : [stuckAt],
  );
  for (let mask = 0; mask < 2 ** unsure.length; mask++) {
    const left: Record<string, number | undefined> = { ...durable };
    unsure.forEach((name, bit) => {
      if ((mask >> bit) & 1) left[name] = names[name];
    });
    const kept = Object.fromEntries(
      Object.entries(left).filter((entry): entry is [string, number] => entry[1] !== undefined),
    );
    for (const cut of combinations(lengths))
      yield [kept, files.map((file, index) => ({ lines: file.lines.slice(0, cut[index]), synced: 0 }))];
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

function combinations(choices: readonly (readonly number[])[]): number[][] {
  return choices.reduce<number[][]>(
    (all, options) => all.flatMap((chosen) => options.map((option) => [...chosen, option])),
    [[]],
  );
}
