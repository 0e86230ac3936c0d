// Loaded before a program: its pipes say that they are a terminal.
const piped = process.env["PIPED"] === "1" ? [process.stdout] : [];
for (const stream of [process.stdin, process.stdout, process.stderr]) if (!piped.includes(stream)) stream.isTTY = true;
for (const stream of [process.stdout, process.stderr]) stream.columns = Number(process.env["COLUMNS"]);
process.stdin.setRawMode = () => process.stdin;
