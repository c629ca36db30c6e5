// Prints all groups, repositories and tags that a token may see, as a tree.
const { API, TOKEN, PAGE_SIZE = "200" } = process.env;
if (!API || !TOKEN) throw new Error("set API (URL of the server) and TOKEN (access token)");

/** Yields all resources of a list, page by page. The last page has no nextPageToken. */
async function* list(path, plural) {
  const query = new URLSearchParams({ page_size: PAGE_SIZE, order_by: "name" });
  for (;;) {
    const response = await fetch(`${API}${path}?${query}`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const page = await response.json();
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${page.message}`);
    yield* page[plural];
    if (!page.nextPageToken) return;
    // The other parameters stay the same: a page token is valid only with the filters and the order that it was made for.
    query.set("page_token", page.nextPageToken);
  }
}

// A uid begins with the uid of its parent: <organization>/<folder>/<repository>/<tag>. So three lists are enough to build the tree,
// whatever its depth; there is no need for a call per group.
const nodes = new Map();
for await (const { uid, name } of list("/iam/v2/groups", "groups")) nodes.set(uid, `${name}/`);
for await (const { uid, name } of list("/registry/v2/repos", "repos")) nodes.set(uid, name);
for await (const { uid, name, digest } of list("/registry/v2/tags", "tags")) nodes.set(uid, `:${name} ${digest}`);

const parentOf = (uid) => uid.slice(0, Math.max(0, uid.lastIndexOf("/")));
const childrenOf = new Map();
for (const uid of nodes.keys()) {
  const siblings = childrenOf.get(parentOf(uid)) ?? [];
  siblings.push(uid);
  childrenOf.set(parentOf(uid), siblings);
}

function print(uid, indent) {
  const children = childrenOf.get(uid) ?? [];
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1;
    console.log(`${indent}${isLast ? "└── " : "├── "}${nodes.get(child)}`);
    print(child, `${indent}${isLast ? "    " : "│   "}`);
  }
}

// A token may see a folder without the groups above it: whatever has no visible parent starts a tree of its own.
for (const [uid, label] of nodes) {
  if (nodes.has(parentOf(uid))) continue;
  console.log(label);
  print(uid, "");
}
