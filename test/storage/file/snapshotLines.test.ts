import fc from "fast-check";
import { expect, it } from "vitest";
import type { Segment } from "../../../src/storage/file/layout/Segment.ts";
import { snapshotLinesBackwards } from "../../../src/storage/file/read/LogReader.ts";

const line = fc.constantFrom('{"snapshot":["x"]}', '{"snap":1}', '{"snapshot"', '["y"]', "", ' {"snapshot":["z"]}');
const lines = fc.array(line, { maxLength: 8 });

it("finds the snapshots among the lines of a part, from last to first", () => {
  fc.assert(
    fc.property(lines, lines, lines, (before, inside, after) => {
      const head = ["{}", ...before, ""].join("\n");
      const text = inside.map((each) => `${each}\n`);
      const segment = { bytes: Buffer.from([head, ...text, after.join("\n")].join("")) } as Segment;
      const end = head.length + text.join("").length;
      const starts = text.map((_, at) => head.length + text.slice(0, at).join("").length);
      const expected = starts.filter((_, at) => text[at]?.startsWith('{"snapshot":') === true).reverse();
      expect([...snapshotLinesBackwards({ segment, start: head.length, end })]).toEqual(expected);
    }),
  );
});
