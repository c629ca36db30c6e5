// Machines with their roles, a pull token that expires soon, an invite, and a webhook whose sink does not answer.

const DAY = 86_400;

const MACHINES = [
  {
    name: "github-actions",
    folder: "web-shop",
    issuer: "https://token.actions.githubusercontent.com",
    subject: "repo:acme/web-shop:ref:refs/heads/main",
    role: "registry.push",
  },
  {
    name: "gitlab-ci",
    folder: "payments",
    issuer: "https://gitlab.com",
    subject: "project_path:acme/payments:ref_type:branch:ref:main",
    role: "registry.push",
  },
  {
    name: "cluster-eu",
    folder: "platform",
    issuer: "https://kubernetes.eu.acme.test",
    subject: "system:serviceaccount:prod:puller",
    role: "registry.pull",
  },
];

export async function createPeople({ api, organization, folders }) {
  for (const { name, folder, issuer, subject, role } of MACHINES) {
    const parent = folders[folder];
    const { uid } = await api.post(`/iam/v2/identities/${parent}`, { name, claimMatch: { issuer, subject } });
    await api.post(`/iam/v2/roleBindings/${parent}`, { identityUid: uid, roleUid: await api.role(role) });
  }
  await api.post(`/holt/v1/pullTokens/${folders.platform}`, { name: "edge-cluster", rights: ["RIGHT_IMAGES_PULL"], ttl: `${3 * DAY}s` });
  await api.post(`/iam/v2/groupInvites/${organization.uid}`, { roleUid: await api.role("viewer"), ttl: `${2 * DAY}s`, singleUse: true });
  await api.post(`/events/v2/subscriptions/${organization.uid}`, { sink: "https://hooks.invalid/holt" });
}
