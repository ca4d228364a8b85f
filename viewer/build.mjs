// Bundles the viewer into one page without a network: dist/page.html, with a place for the title and one for the data.
//
//     node build.mjs [FILE]
//
// The page's policy names the hash of its one script, so that nothing else can run in it, and allows no request at all.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { build } from "esbuild";

const here = new URL(".", import.meta.url);
const bundle = await build({
  entryPoints: [new URL("src/main.ts", here).pathname],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2023",
  charset: "utf8",
  legalComments: "none",
  write: false,
});
// A script ends at the first "</script", wherever that stands.
const script = bundle.outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = (await readFile(new URL("src/style.css", here), "utf8")).trim();
const hash = createHash("sha256").update(script).digest("base64");
const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'`;
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>morecores</title>
<style>
${style}
</style>
</head>
<body>
<main><noscript>This page draws its pictures with a script of its own. Without scripts, morecores show prints the same figures.</noscript></main>
<script type="application/json" id="data">@DATA@</script>
<script>${script}</script>
</body>
</html>
`;
const output = process.argv[2] ?? new URL("dist/page.html", here).pathname;
await mkdir(dirname(output), { recursive: true });
await writeFile(output, page);
