import { describe, expect, it } from "vitest";
import { circlesIn } from "./circlesIn.ts";
import { imports, roomOf } from "./imports.ts";
import { builtOnEntries, enteredByFaces, floors, strangers } from "./rooms.ts";

const mostFiles = 18;
const floorOf = new Map(floors.flatMap((rooms, floor) => rooms.map((room) => [room, floor] as const)));
const steps = [...imports].flatMap(([file, targets]) =>
  targets.map((target) => ({ file, target, from: roomOf(file), to: roomOf(target) })),
);

describe("the rooms of src", () => {
  it("are each on exactly one floor of test/architecture/rooms.ts, and have files", () => {
    const rooms = new Set([...imports.keys()].map(roomOf).filter((room) => room !== ""));
    expect([...rooms].toSorted()).toEqual(floors.flat().toSorted());
  });

  it("import only from rooms on lower floors, and rooms built on entry files only from entry files", () => {
    const upward = steps.filter(({ from, to }) => from !== "" && from !== to && !mayImport(from, to));
    expect(upward.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  it("import no rooms that they must not know", () => {
    const forbidden = steps.filter(({ from, to }) =>
      Object.entries(strangers).some(([room, unknown]) => isIn(from, room) && unknown.some((other) => isIn(to, other))),
    );
    expect(forbidden.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  it("import only the public files of persistence, task, workspace and testing", () => {
    const inner = steps.filter(({ from, to }) =>
      enteredByFaces.some((room) => from !== "" && !isIn(from, room) && isIn(to, room) && to !== room),
    );
    expect(inner.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  it(`hold at most ${mostFiles} files each`, () => {
    const files = [...imports.keys()].map(roomOf).filter((room) => room !== "");
    const crowded = new Set(files.filter((room) => files.filter((other) => other === room).length > mostFiles));
    expect([...crowded]).toEqual([]);
  });
});

describe("the files of src", () => {
  it("have no import cycles, types included", () => {
    expect(circlesIn(imports)).toEqual([]);
  });
});

describe("circlesIn", () => {
  it("finds only a cycle of three and a file that imports itself", () => {
    const graph = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["a", "d"]],
      ["d", []],
      ["e", ["e"]],
    ]);
    expect(circlesIn(graph)).toEqual([["a", "b", "c"], ["e"]]);
  });
});

function mayImport(room: string, other: string): boolean {
  return other === "" ? builtOnEntries.includes(room) : isLower(other, room);
}

function isLower(room: string, than: string): boolean {
  return (floorOf.get(room) ?? Infinity) < (floorOf.get(than) ?? -1);
}

function isIn(room: string, outer: string): boolean {
  return room === outer || room.startsWith(`${outer}/`);
}
