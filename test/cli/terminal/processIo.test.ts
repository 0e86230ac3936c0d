import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { processIo, type ProcessStreams } from "../../../src/cli/terminal/processIo.ts";

function ioOn(terminal: { readonly isTTY: boolean; readonly columns?: number }) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, terminal));
  return processIo("0.0.0", { stdin: process.stdin, stdout, stderr } as unknown as ProcessStreams);
}

it("takes a terminal without a size as one of unknown width, so that it cuts no table", () => {
  expect(ioOn({ isTTY: true, columns: 0 }).out).toMatchObject({ isTerminal: true, columns: undefined });
  expect(ioOn({ isTTY: true, columns: 80 }).out).toMatchObject({ isTerminal: true, columns: 80 });
  expect(ioOn({ isTTY: false }).err).toMatchObject({ isTerminal: false, columns: undefined });
});
