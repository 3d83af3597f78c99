"""What the chart makes of its values, by the real helm 3 and 4, without a cluster; kubeconform judges all of it.

Golden files: testdata/NAME.golden.yaml is made of testdata/NAME.values.yaml; `chart_test.py --update` writes them anew.
deploy/install.yaml and install-namespaced.yaml, which have tests of their own, are two more.
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

import schemas
from caravan_chart import CHART, HELMS, SOURCES, documents, helm, kubernetes_version, program, rendered

TESTDATA = Path(__file__).parent / "testdata"
MONITORING = ("--api-versions", "monitoring.coreos.com/v1")
ONE_NAMESPACE = ("-f", str(TESTDATA / "one_namespace.values.yaml"))
SERVICE = ("--set", "service.enabled=true")
KEPT_BY_THE_OPERATOR = {("Secret", "caravan-service-certificate"), ("ConfigMap", "caravan-service-root"),
                        ("Role", "caravan-operator-service-certificate"), ("Role", "caravan-service-root")}
MOST_FOR_CLIENT_SIDE_APPLY = 256 << 10  # bytes of all annotations, one of which then holds the object
# Of namespaces; what else the chart makes belongs to the cluster.
OF_A_NAMESPACE = {"ConfigMap", "Deployment", "Lease", "NetworkPolicy", "Pod", "PodDisruptionBudget", "PodMonitor",
                  "PrometheusRule", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor"}


class Loader(yaml.CSafeLoader):
    """That of C: Python's own takes most of a minute for what is parsed here. Unlike either it refuses a key that comes twice."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise yaml.constructor.ConstructorError(None, None, f"{', '.join(sorted(twice))}: twice in a mapping", node.start_mark)
        return super().construct_mapping(node, deep)


def parsed(text: str):
    return yaml.load(text, Loader)


def made(*options: str, which: str = "helm4") -> list[dict]:
    return [parsed(each) for each in documents(rendered(*options, which=which))]


def of_kind(kind: str, objects: list[dict]) -> list[dict]:
    return [each for each in objects if each["kind"] == kind]


def golden(name: str) -> str:
    values = ("-f", str(TESTDATA / f"{name}.values.yaml"), "--set", "monitoring.dashboards.enabled=never,monitoring.rules.enabled=false")
    return "---\n".join(documents(rendered(*values, *MONITORING, namespace="team")))


GOLDEN = ("everything", "job_service_of_one_namespace", "one_namespace")


class Rendering(unittest.TestCase):
    maxDiff = None

    def test_nothing_is_found_wrong_with_the_chart(self):
        for which in HELMS:
            self.assertIn("0 chart(s) failed", helm(which, "lint", "--strict", CHART).stdout)

    def test_what_was_looked_at_once_is_made_again(self):
        for name in GOLDEN:
            with self.subTest(name):
                self.assertEqual((TESTDATA / f"{name}.golden.yaml").read_text(), golden(name))

    def test_both_helms_make_the_same(self):
        for options in ((), MONITORING, SERVICE, ("-f", str(TESTDATA / "everything.values.yaml")), ONE_NAMESPACE):
            three, four = (made(*options, which=which) for which in HELMS)
            self.assertGreater(len(three), 10)
            self.assertEqual(three, four)

    def test_the_chart_has_the_version_of_the_project(self):
        project = re.search(r"project\(caravan VERSION (\S+)", (SOURCES / "CMakeLists.txt").read_text())[1]
        chart = parsed((CHART / "Chart.yaml").read_text())
        self.assertEqual((project, project), (chart["version"], chart["appVersion"]))

    def test_every_object_can_be_found_by_its_label(self):
        for each in made(*MONITORING, *SERVICE):
            if each["kind"] != "CustomResourceDefinition":
                self.assertEqual("caravan", each["metadata"]["labels"]["app.kubernetes.io/part-of"], each["metadata"])

    def test_no_name_of_an_environment_variable_comes_twice(self):
        """Which the server-side apply of Helm 4 refuses."""
        for deployment in of_kind("Deployment", made("-f", str(TESTDATA / "everything.values.yaml"))):
            names = [each["name"] for each in deployment["spec"]["template"]["spec"]["containers"][0].get("env", ())]
            self.assertEqual(sorted(set(names)), sorted(names))


class Definition(unittest.TestCase):
    def test_it_is_upgraded_with_the_chart_and_stays_when_that_goes(self):
        self.assertFalse((CHART / "crds").exists(), "Helm never upgrades what is there")
        [definition] = of_kind("CustomResourceDefinition", made())
        self.assertEqual({"helm.sh/resource-policy": "keep"}, definition["metadata"].pop("annotations"))
        [source] = (CHART / "files/crds").glob("*.yaml")
        self.assertEqual(parsed(source.read_text()), definition)

    def test_it_goes_with_the_chart_where_that_is_wanted(self):
        [definition] = of_kind("CustomResourceDefinition", made("--set", "crds.keep=false"))
        self.assertNotIn("annotations", definition["metadata"])
        self.assertEqual([], of_kind("CustomResourceDefinition", made("--set", "crds.enabled=false")))

    def test_a_client_side_apply_takes_it(self):
        for each in made(*MONITORING):
            self.assertLess(len(json.dumps(each)), MOST_FOR_CLIENT_SIDE_APPLY, each["metadata"]["name"])


class Rights(unittest.TestCase):
    def test_without_rights_in_the_cluster_nothing_of_the_cluster_is_made(self):
        kinds = {each["kind"] for each in made(*ONE_NAMESPACE, *MONITORING)}
        self.assertIn("Role", kinds)
        self.assertLessEqual(kinds, OF_A_NAMESPACE)
        rights = "scope=Namespace,crds.enabled=false,clusterObjects.shared=false,clusterObjects.own=false,queues.rights=false"
        groups = {each["apiVersion"].partition("/")[0] for each in made(*MONITORING, "--set", f"{rights},monitoring.enabled=false")}
        self.assertEqual({"v1", "apps", "coordination.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io"}, groups,
                         "which the role admin may make")

    def test_what_releases_share_can_be_left_to_one_of_them(self):
        other = made("--set", "scope=Namespace,crds.enabled=false,clusterObjects.shared=false")
        of_cluster = [each for each in other if each["kind"] not in OF_A_NAMESPACE]
        self.assertTrue(of_cluster)
        for each in of_cluster:
            self.assertTrue(each["metadata"]["name"].startswith("caravan-operator-caravan-system"), each["metadata"])

    def test_what_releases_share_can_be_all_of_a_release(self):
        shared = {(each["kind"], each["metadata"]["name"]) for each in made("--set", "operator.enabled=false")}
        self.assertIn(("ClusterRole", "caravan-jobs-admin"), shared)
        self.assertFalse({kind for kind, _ in shared} & OF_A_NAMESPACE)
        other = made("--set", "scope=Namespace,crds.enabled=false,clusterObjects.shared=false")
        self.assertFalse(shared & {(each["kind"], each["metadata"]["name"]) for each in other})
        whole = {(each["kind"], each["metadata"]["name"]) for each in made("--set", "scope=Namespace")}
        self.assertEqual(whole, shared | {(each["kind"], each["metadata"]["name"]) for each in other})

    def rules_of_queues(self, *options: str) -> list[dict]:
        rules = [rule for kind in ("ClusterRole", "Role") for role in of_kind(kind, made(*options)) for rule in role["rules"]]
        return [rule for rule in rules if any("kueue" in group for group in rule["apiGroups"]) or
                (rule["resources"], rule["verbs"]) == (["priorityclasses"], ["list", "watch"])]

    def test_kueue_is_nobodys_to_use_where_the_rights_for_queues_are_not_wanted(self):
        for scope in ("Cluster", "Namespace"):
            self.assertEqual(5, len(self.rules_of_queues("--set", f"scope={scope}")))
            self.assertEqual([], self.rules_of_queues("--set", f"scope={scope},queues.rights=false"))

    def test_what_an_administrator_is_asked_to_grant_for_queues_is_what_the_chart_would(self):
        page = (SOURCES / "docs/user/install.md").read_text()
        manifest = re.search(r"^kubectl apply -f - <<'EOF'\n(.*?)^EOF$", page, re.MULTILINE | re.DOTALL)[1]
        granted = [rule for role in yaml.safe_load_all(manifest) for rule in role["rules"]]
        self.assertEqual(self.rules_of_queues("--set", "scope=Namespace"), granted)

    def test_nobody_else_writes_what_an_operator_of_the_cluster_remembers(self):
        for role in of_kind("ClusterRole", made()):
            for rule in role["rules"]:
                if "llamatrainingjobs/status" in rule["resources"] and "patch" in rule["verbs"]:
                    self.assertEqual("caravan-operator", role["metadata"]["name"])

    def test_a_policy_that_fails_binds_our_own_objects_and_our_own_account_only(self):
        """So that no write of anybody else is refused, whatever becomes of the operator; there are no webhooks at all."""
        objects = made()
        self.assertEqual([], [each["kind"] for each in objects if "Webhook" in each["kind"]])
        for policy in of_kind("ValidatingAdmissionPolicy", objects):
            spec = policy["spec"]
            groups = {group for rule in spec["matchConstraints"]["resourceRules"] for group in rule["apiGroups"]}
            if groups != {"training.caravan.dev"}:
                self.assertEqual(["is-the-operator"], [each["name"] for each in spec["matchConditions"]])


def named(objects: list[dict]) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in objects}


class JobService(unittest.TestCase):
    def test_there_is_none_of_it_unless_it_is_wanted(self):
        self.assertEqual(set(), {name for name in named(made(*MONITORING)) if "service" in name[1]})

    def test_it_may_see_jobs_and_ask_about_callers_and_nothing_else(self):
        wanted = {("llamatrainingjobs", "list"), ("llamatrainingjobs", "watch"), ("tokenreviews", "create"),
                  ("subjectaccessreviews", "create")}
        for options in (SERVICE, (*SERVICE, "--set", "scope=Namespace")):
            objects = made(*options)
            bound = [(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in objects if each["kind"].endswith("Binding")
                     and any(subject["name"] == "caravan-service" for subject in each.get("subjects", ()))]
            rules = [rule for each in objects if (each["kind"], each["metadata"]["name"]) in bound for rule in each["rules"]]
            self.assertEqual(wanted, {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]})

    def test_its_pods_are_as_the_operators(self):
        pods = {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in of_kind("Deployment", made(*SERVICE))}
        operator, service = pods["caravan-operator"], pods["caravan-service"]
        self.assertEqual(operator["securityContext"], service["securityContext"])
        [one], [other] = operator["containers"], service["containers"]
        for field in ("image", "securityContext", "livenessProbe", "readinessProbe"):
            self.assertEqual(one[field], other[field], field)
        self.assertEqual("caravan-service", service["serviceAccountName"])

    def test_whatever_selects_it_finds_its_pods(self):
        objects = [each for each in made(*SERVICE, *MONITORING) if each["metadata"]["name"] == "caravan-service"]
        [deployment], [service], [policy], [budget], [monitor] = (
            of_kind(kind, objects) for kind in ("Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor"))
        template = deployment["spec"]["template"]
        for selector in (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"],
                         policy["spec"]["podSelector"]["matchLabels"], budget["spec"]["selector"]["matchLabels"],
                         monitor["spec"]["selector"]["matchLabels"],
                         template["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]):
            self.assertLessEqual(selector.items(), template["metadata"]["labels"].items())
        ports = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
        self.assertEqual("api", service["spec"]["ports"][0]["targetPort"])
        self.assertEqual("https", service["spec"]["ports"][1]["targetPort"])
        self.assertEqual({ports["metrics"], ports["api"], ports["https"]},
                         {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]})

    def test_what_a_caller_may_ask_for_can_be_set_and_callers_are_told_apart_behind_a_load_balancer(self):
        def service(*options: str) -> tuple[list[str], str | None]:
            [pod, object] = [next(each for each in of_kind(kind, made(*SERVICE, *options))
                                  if each["metadata"]["name"] == "caravan-service")["spec"] for kind in ("Deployment", "Service")]
            return pod["template"]["spec"]["containers"][0]["args"], object.get("externalTrafficPolicy")

        arguments, traffic = service("--set", "service.type=LoadBalancer,service.limits.streams=512,service.limits.burst=2000")
        self.assertEqual("Local", traffic)
        self.assertLessEqual({"--streams=512", "--burst=2000"}, set(arguments))
        self.assertNotIn("requests-per-second", " ".join(arguments))
        self.assertEqual("Cluster", service("--set", "service.type=NodePort,service.externalTrafficPolicy=Cluster")[1])
        self.assertIsNone(service("--set", "service.externalTrafficPolicy=Local")[1], "it has no meaning inside")

    def test_the_operator_keeps_its_certificate_for_the_names_that_it_has(self):
        objects = made(*SERVICE, "--set", "service.names={jobs.example,192.0.2.7}")
        self.assertLessEqual(KEPT_BY_THE_OPERATOR, named(objects))
        [operator] = [each for each in of_kind("Deployment", objects) if each["metadata"]["name"] == "caravan-operator"]
        self.assertIn("--service-names=caravan-service,caravan-service.caravan-system,caravan-service.caravan-system.svc,"
                      "jobs.example,192.0.2.7", operator["spec"]["template"]["spec"]["containers"][0]["args"])
        [secret] = of_kind("Secret", objects)
        self.assertNotIn("data", secret, "which an upgrade would put in the place of what is there")

    def test_the_key_of_the_authority_is_in_no_pod(self):
        for pod in (each["spec"]["template"]["spec"] for each in of_kind("Deployment", made(*SERVICE))):
            for volume in pod.get("volumes", ()):
                self.assertNotIn("ca.key", [item["key"] for item in volume["secret"]["items"]])

    def test_it_hears_of_training_from_the_operator(self):
        objects = made(*SERVICE)
        operator, service = (
            next(each for each in of_kind("Deployment", objects) if each["metadata"]["name"] == f"caravan-{name}")["spec"]
            ["template"]["spec"] for name in ("operator", "service"))  # fmt: skip
        self.assertIn("--live-listen=[::]:9444", operator["containers"][0]["args"])
        self.assertIn({"name": "live", "containerPort": 9444}, operator["containers"][0]["ports"])
        arguments = service["containers"][0]["args"]
        self.assertIn("--operator=caravan-operator.caravan-system.svc:9444", arguments)
        mounted = {f"{mount['mountPath']}/{item['path']}" for mount in service["containers"][0]["volumeMounts"]
                   for volume in service["volumes"] if volume["name"] == mount["name"] for item in volume["secret"]["items"]}
        files = {argument.partition("=")[2] for argument in arguments if "=/etc" in argument}
        self.assertEqual(5, len(files))
        self.assertEqual(mounted, files)
        policies = {each["metadata"]["name"]: each["spec"] for each in of_kind("NetworkPolicy", objects)}
        for name, other, direction, side in (("operator", "service", "ingress", "from"), ("service", "operator", "egress", "to")):
            [rule] = [rule for rule in policies[f"caravan-{name}"][direction]
                      if {"protocol": "TCP", "port": 9444} in rule["ports"]]
            self.assertEqual([{"podSelector": {"matchLabels": {"app.kubernetes.io/name": f"caravan-{other}"}}}], rule[side])
        self.assertNotIn("9444", json.dumps(made()), "without a job service nobody listens there")

    def test_a_certificate_of_somebody_else_is_left_to_him(self):
        for given, secret in (("service.certificate.secretName=mine", "mine"),
                              ("service.certificate.certManager.issuerName=corporate", "caravan-service-tls")):
            objects = made(*SERVICE, "--set", given)
            self.assertNotIn(("ConfigMap", "caravan-service-root"), named(objects))
            self.assertNotIn("service-names", json.dumps(objects))
            [service] = [each for each in of_kind("Deployment", objects) if each["metadata"]["name"] == "caravan-service"]
            volumes = {volume["name"]: volume["secret"] for volume in service["spec"]["template"]["spec"]["volumes"]}
            self.assertEqual(secret, volumes["certificate"]["secretName"])
            self.assertEqual("caravan-service-certificate", volumes["operator"]["secretName"], "which is between the two")
        [certificate] = of_kind("Certificate", objects)
        self.assertEqual("caravan-service-tls", certificate["spec"]["secretName"])

    def test_it_can_stand_beside_operators_of_single_namespaces(self):
        objects = made(*SERVICE, "--set", "operator.enabled=false,service.certificate.secretName=mine")
        self.assertEqual(["caravan-service"], [each["metadata"]["name"] for each in of_kind("Deployment", objects)])


class Monitoring(unittest.TestCase):
    KINDS = {"PodMonitor", "PrometheusRule", "ServiceMonitor"}

    def test_there_is_none_of_it_without_its_api(self):
        kinds = {each["kind"] for each in made()}
        self.assertFalse(kinds & (self.KINDS | {"ConfigMap"}))
        self.assertLessEqual(self.KINDS | {"ConfigMap"}, {each["kind"] for each in made(*MONITORING)})

    def test_each_can_be_left_out(self):
        for value, kind in (("podMonitor.enabled=false", "PodMonitor"), ("serviceMonitor.enabled=false", "ServiceMonitor"),
                            ("rules.enabled=false", "PrometheusRule"), ("dashboards.enabled=never", "ConfigMap")):
            kinds = {each["kind"] for each in made(*MONITORING, "--set", f"monitoring.{value}")}
            self.assertEqual((self.KINDS | {"ConfigMap"}) - {kind}, kinds & (self.KINDS | {"ConfigMap"}))

    def test_the_boards_come_as_they_are_and_where_the_sidecar_looks(self):
        boards = {each["metadata"]["name"]: each for each in of_kind("ConfigMap", made(
            "--set", "monitoring.dashboards.enabled=always"))}
        files = sorted((CHART / "files/dashboards").glob("*.json"))
        self.assertEqual({f"caravan-dashboard-{file.stem}" for file in files}, set(boards))
        self.assertEqual(3, len(files))
        for file in files:
            board = boards[f"caravan-dashboard-{file.stem}"]
            self.assertEqual("1", board["metadata"]["labels"]["grafana_dashboard"])
            self.assertEqual(json.loads(file.read_text()), json.loads(board["data"][f"caravan-{file.name}"]))

    def test_the_rules_come_as_they_are_but_for_alerts_that_nobody_wants(self):
        groups = [group for file in sorted((CHART / "files/rules").glob("*.rules.yaml"))
                  for group in parsed(file.read_text())["groups"]]
        [rule] = of_kind("PrometheusRule", made(*MONITORING))
        [down] = [each for group in groups for each in group["rules"] if each.get("alert") == "CaravanOperatorDown"]
        down["expr"] = 'absent(leader_election_master_status{namespace="caravan-system", name="llamatrainingjob"} == 1)'
        down["labels"]["namespace"] = "caravan-system"
        down["annotations"]["summary"] += " in caravan-system"
        self.assertEqual(groups, rule["spec"]["groups"])
        alerts = [each["alert"] for group in groups for each in group["rules"] if "alert" in each]
        [without] = of_kind("PrometheusRule", made(*MONITORING, "--set", f"monitoring.rules.without={{{alerts[0]}}}"))
        left = [each["alert"] for group in without["spec"]["groups"] for each in group["rules"] if "alert" in each]
        self.assertEqual(alerts[1:], left)

    def test_of_several_releases_one_brings_rules_and_boards_and_each_the_alert_of_its_operator(self):
        def alerts(*options: str) -> list[str]:
            return [each.get("alert") for rule in of_kind("PrometheusRule", made(*MONITORING, *options))
                    for group in rule["spec"]["groups"] for each in group["rules"]]

        team = ("--set", "scope=Namespace,crds.enabled=false,clusterObjects.shared=false")
        shared = ("--set", "operator.enabled=false")
        self.assertEqual(["CaravanOperatorDown"], alerts(*team))
        nothing = (*team, "--set", "monitoring.rules.without={CaravanOperatorDown}")
        self.assertEqual([], of_kind("PrometheusRule", made(*MONITORING, *nothing)), "of no rules")
        self.assertNotIn("CaravanOperatorDown", alerts(*shared))
        self.assertIn("CaravanRestartLoop", alerts(*shared))
        self.assertEqual([], of_kind("ConfigMap", made(*MONITORING, *team)))
        self.assertEqual(3, len(of_kind("ConfigMap", made(*MONITORING, *shared))))

    def test_every_alert_leads_to_a_page_where_pages_are_served(self):
        [rule] = of_kind("PrometheusRule", made(*MONITORING, "--set", "monitoring.rules.runbooks=https://pages.example/caravan/"))
        alerts = [each for group in rule["spec"]["groups"] for each in group["rules"] if "alert" in each]
        self.assertGreater(len(alerts), 5)
        for alert in alerts:
            self.assertRegex(alert["annotations"]["runbook_url"], r"^https://pages\.example/caravan/\w+\.md$")

    def test_nothing_that_a_tenants_pod_says_is_taken_for_where_it_runs(self):
        """Any pod may wear the labels of a worker. What the operator says of jobs is believed."""
        objects = made(*MONITORING)
        [pods], [services] = of_kind("PodMonitor", objects), of_kind("ServiceMonitor", objects)
        [endpoint] = pods["spec"]["podMetricsEndpoints"]
        self.assertNotIn("honorLabels", endpoint)
        self.assertNotIn("job", [each["targetLabel"] for each in endpoint["relabelings"]], "of `up`")
        self.assertTrue(services["spec"]["endpoints"][0]["honorLabels"])
        self.assertEqual({"matchNames": ["caravan-system"]}, services["spec"]["namespaceSelector"])

    def test_of_a_workers_pod_what_agents_export_is_kept_and_nothing_else(self):
        [pods] = of_kind("PodMonitor", made(*MONITORING))
        [kept] = [re.compile(each["regex"]) for each in pods["spec"]["podMetricsEndpoints"][0]["metricRelabelings"]
                  if each.get("action") == "keep"]
        for page in ("metrics", "operator-metrics", "service-metrics"):
            names = re.findall(r"^\| `(\w+)` \|", (SOURCES / f"docs/reference/{page}.md").read_text(), re.MULTILINE)
            self.assertGreater(len(names), 3)
            for name in names:
                self.assertEqual(page == "metrics", kept.fullmatch(name) is not None, name)


class Images(unittest.TestCase):
    def test_workers_on_gpus_have_one_of_their_own_unless_that_is_taken_away(self):
        def given(*options: str) -> dict[str, str]:
            [operator] = of_kind("Deployment", made(*options))
            [container] = operator["spec"]["template"]["spec"]["containers"]
            return {each["name"]: each["value"] for each in container["env"] if each["name"].startswith("CARAVAN_WORKER_IMAGE")}

        version = parsed((CHART / "Chart.yaml").read_text())["appVersion"]
        one = {"CARAVAN_WORKER_IMAGE": f"localhost/caravan-worker:{version}"}
        self.assertEqual(one | {"CARAVAN_WORKER_IMAGE_CUDA": f"localhost/caravan-worker-cuda:{version}"}, given())
        self.assertEqual(one, given("--set", "images.workerCuda="))

    def test_one_whose_digest_is_given_is_that_whatever_the_tag_says(self):
        digests = {name: f"sha256:{digit * 64}" for name, digit in (("operator", "1"), ("worker", "2"), ("workerCuda", "3"))}
        pinned = [option for name, digest in digests.items() for option in ("--set", f"images.digests.{name}={digest}")]
        text = "".join(each["metadata"]["name"] + json.dumps(each["spec"]) for kind in ("Deployment", "Pod")
                       for each in of_kind(kind, made(*SERVICE, "--set", "images.tag=moved", *pinned)))
        self.assertEqual({f"localhost/caravan-operator@{digests['operator']}", f"localhost/caravan-worker@{digests['worker']}",
                          f"localhost/caravan-worker-cuda@{digests['workerCuda']}"}, set(re.findall(r"localhost/[^\"]+", text)))


class HelmTest(unittest.TestCase):
    EVERYTHING = ("-f", str(TESTDATA / "everything.values.yaml"))

    def pod(self, *options: str) -> dict:
        [pod] = of_kind("Pod", made(*options))
        return pod

    def test_its_pod_is_let_out_where_nobody_is_unless_a_policy_says_so(self):
        policies = {each["metadata"]["name"]: each for each in of_kind("NetworkPolicy", made())}
        policy, pod = policies["caravan-check"], self.pod()
        self.assertEqual({"app.kubernetes.io/name": "caravan-check"}, policy["spec"]["podSelector"]["matchLabels"])
        self.assertLessEqual(policy["spec"]["podSelector"]["matchLabels"].items(), pod["metadata"]["labels"].items())
        self.assertEqual(policies["caravan-operator"]["spec"]["egress"], policy["spec"]["egress"])
        self.assertNotIn("ingress", policy["spec"])
        self.assertEqual("test", policy["metadata"]["annotations"]["helm.sh/hook"])
        self.assertEqual([], of_kind("NetworkPolicy", made("--set", "networkPolicy.enabled=false")))

    def test_its_pod_goes_where_the_operators_go(self):
        [operator] = [each["spec"]["template"]["spec"] for each in of_kind("Deployment", made(*self.EVERYTHING))
                      if each["metadata"]["name"] == "caravan-operator"]
        for field in ("affinity", "nodeSelector", "priorityClassName", "tolerations"):
            self.assertEqual(operator[field], self.pod(*self.EVERYTHING)["spec"][field], field)


class Drains(unittest.TestCase):
    def test_none_waits_for_ever_for_the_only_replica(self):
        budgets = of_kind("PodDisruptionBudget", made(*SERVICE, "--set", "operator.replicas=1,service.replicas=1"))
        self.assertEqual({"caravan-operator", "caravan-service"}, {budget["metadata"]["name"] for budget in budgets})
        for budget in budgets:
            self.assertEqual(1, budget["spec"]["maxUnavailable"], budget["metadata"]["name"])


class Values(unittest.TestCase):
    def test_those_that_a_chart_before_did_not_have_need_not_be_there(self):
        """As after `helm upgrade --reuse-values`."""
        absent = ("monitoring.enabled", "service.limits", "service.externalTrafficPolicy", "admissionPolicies.apiAudiences",
                  "images.digests")
        options = (*SERVICE, *MONITORING, "--set", "service.type=LoadBalancer")
        self.assertEqual(made(*options, "--set", "images.workerCuda="),
                         made(*options, "--set", ",".join(f"{value}=null" for value in (*absent, "images.workerCuda"))))

    def test_what_cannot_be_is_refused_with_its_name(self):
        for value, named in (
            ("scope=Everywhere", "scope"),
            ("replica=3", "replica"),
            ("operator.replicas=0", "replicas"),
            ("operator.image=mine", "image"),
            ("workers.dns={10.0.0.10}", "dns"),
            ("workers.dns={10.0.0.10/99}", "dns"),
            ("workers.dns={foo/32}", "dns"),
            ("workers.dns={kube-system/k8s-app=}", "dns"),
            ("workers.agentPatienceSeconds=1", "agentPatienceSeconds"),
            ("workers.coresPerGpu=-1", "coresPerGpu"),
            ("workers.hostNetwork.nodeAddresses={all}", "nodeAddresses"),
            ("monitoring.dashboards.enabled=true", "dashboards"),
            ("monitoring.interval=often", "interval"),
            ("admissionPolicies.apiAudiences={a'b}", "apiAudiences"),
            ("monitoring.rules.runbooks=pages", "runbooks"),
            ("priorityClasses[0].name=high", "value"),
            ("images.pullPolicy=Sometimes", "pullPolicy"),
            ("images.workerCuda=UPPER", "workerCuda"),
            ("images.digests.worker=sha256:12", "digests"),
            ("clusterObjects.own=false", "clusterObjects.own=true"),
            ("service.names={a/b}", "names"),
            ("service.names={a\\,b}", "names"),
            ("service.audiences={}", "audiences"),
            ("service.type=ExternalName", "type"),
            ("service.externalTrafficPolicy=Remote", "externalTrafficPolicy"),
            ("service.limits.streams=0", "streams"),
            ("service.certificate.certManager.issuer=mine", "issuer"),
            ("service.enabled=true,operator.enabled=false", "service.certificate.secretName"),
            ("service.certificate.secretName=a,service.certificate.certManager.issuerName=b", "issuerName, and not both"),
            ("service.enabled=true,service.certificate.secretName=caravan-service-certificate", "give yours another name"),
        ):
            for which in HELMS:
                with self.subTest(f"{which} {value}"):
                    done = helm(which, "template", "caravan", CHART, "--set", value, check=False)
                    self.assertNotEqual(0, done.returncode)
                    self.assertIn(named, done.stderr)

    def test_a_server_that_is_too_old_is_refused_or_told_what_to_leave_out(self):
        def template(version: str, *options: str, check: bool = False) -> subprocess.CompletedProcess:
            return helm("helm4", "template", "caravan", CHART, "--kube-version", version, *options, check=check)

        without = "admissionPolicies.enabled=false"
        self.assertIn("requires kubeVersion: >=1.29.0-0", template("1.28.15", "--set", without).stderr)
        self.assertIn(without, template("1.29.0").stderr)
        objects = map(parsed, documents(template("1.29.0", "--set", without, check=True).stdout))
        self.assertNotIn("ValidatingAdmissionPolicy", {each["kind"] for each in objects})

    def test_the_schema_knows_the_values_and_no_others(self):
        def names(values, schema, at=""):
            for key in values.keys() | schema["properties"].keys() - {"global"}:
                self.assertIn(key, values, f"{at}{key} has no default")
                self.assertIn(key, schema["properties"], f"{at}{key}")
                inner = schema["properties"][key]
                if "properties" in inner and key not in ("resources",):
                    names(values[key], inner, f"{at}{key}.")
        names(parsed((CHART / "values.yaml").read_text()), json.loads((CHART / "values.schema.json").read_text()))


class Conformity(unittest.TestCase):
    """By kubeconform, with the schemas of the pinned Kubernetes, of the Prometheus operator and of our definition. There is none
    of cert-manager."""

    @classmethod
    def setUpClass(cls):
        cls.kubeconform = program("kubeconform")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.schemas = Path(folder.name)
        sources = cls.kubeconform.parent / "schemas"
        schemas.write(cls.schemas, sources / "swagger.json",
                      [*sources.glob("*.yaml"), *(CHART / "files/crds").glob("*.yaml")])

    def judge(self, text: str) -> dict:
        """Everything else has a schema: what has none is an error."""
        command = [self.kubeconform, "-strict", "-skip", "cert-manager.io/v1/Certificate", "-output", "json", "-summary", "-kubernetes-version", kubernetes_version(),
                   "-schema-location", f"{self.schemas}/{schemas.LOCATION}", "-"]
        return json.loads(subprocess.run(command, input=text, capture_output=True, text=True).stdout)

    def assert_conforms(self, text: str) -> None:
        verdict = self.judge(text)
        self.assertEqual([], verdict["resources"])
        skipped = text.count("\nkind: Certificate\n")
        self.assertEqual((len(documents(text)) - skipped, skipped), (verdict["summary"]["valid"], verdict["summary"]["skipped"]))

    def test_all_that_the_chart_makes(self):
        for options in ((), MONITORING, ONE_NAMESPACE, ("--set", "scope=Namespace"), (*SERVICE, *MONITORING),
                        (*SERVICE, "--set", "scope=Namespace,service.certificate.secretName=mine"),
                        (*SERVICE, "--set", "service.certificate.certManager.issuerName=corporate"),
                        (*MONITORING, "-f", str(TESTDATA / "everything.values.yaml"))):
            with self.subTest(options):
                self.assert_conforms(rendered(*options))

    def test_the_manifests_and_the_examples(self):
        for path in (*(SOURCES / "deploy").glob("install*.yaml"), *(CHART / "files/crds").glob("*.yaml"),
                     *(SOURCES / "examples").glob("*.yaml")):
            with self.subTest(path.name):
                self.assert_conforms(path.read_text())

    def test_mistakes_are_found(self):
        manifest = rendered(*MONITORING)
        for right, wrong in (("replicas: 2", "replicas: two"), ("replicas: 2", "replica: 2"),
                             ("podMetricsEndpoints:", "podMetricEndpoints:"), ("scope: Namespaced", "scop: Namespaced")):
            self.assertIn(right, manifest)
            self.assertNotEqual([], self.judge(manifest.replace(right, wrong, 1))["resources"], wrong)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        for each in GOLDEN:
            (TESTDATA / f"{each}.golden.yaml").write_text(golden(each))
    else:
        unittest.main()
