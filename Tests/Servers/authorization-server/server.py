#!/usr/bin/env python3
"""An OAuth 2 authorization server and an API for the tests: django-oauth-toolkit and Django REST framework, on loopback.

It prints its address on one line, "http://127.0.0.1:PORT", and serves until it is ended:

    /o/token/, /o/revoke_token/      django-oauth-toolkit's own; refresh tokens rotate, and using an old one again
                                     revokes the whole family
    /api/read, /api/write            need a token with that scope: 401 without a good token, 403 without the scope
    /control/...                     what no standard has, for the tests alone: makes clients, ends tokens

Not for any other use: everybody who reaches it may do everything.
"""
import json
import os
import secrets
import signal
import sys
import tempfile
from datetime import timedelta

import django
from django.conf import settings

directory = tempfile.TemporaryDirectory(prefix="authorization-server-")

settings.configure(
    SECRET_KEY=secrets.token_hex(32),
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider", "rest_framework"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.path.join(directory.name, "db.sqlite3"),
            "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    # Passwords and client secrets of tests need no slow hash.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    OAUTH2_PROVIDER={
        "SCOPES": {"read": "read", "write": "write"},
        "ACCESS_TOKEN_EXPIRE_SECONDS": 3600,
        "ROTATE_REFRESH_TOKEN": True,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
    },
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": ["oauth2_provider.contrib.rest_framework.OAuth2Authentication"],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    },
    LOGGING={
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"none": {"class": "logging.NullHandler"}},
        # Refusals, queues and old-fashioned grants are what the tests are about.
        "loggers": {
            name: {"handlers": ["none"], "propagate": False}
            for name in ["django.request", "oauth2_provider", "waitress.queue"]
        },
    },
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from oauth2_provider.contrib.rest_framework import TokenHasScope  # noqa: E402
from oauth2_provider.models import AccessToken, Application, RefreshToken  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402
from waitress.server import create_server  # noqa: E402


class Read(APIView):
    """Says who asks."""

    permission_classes = [TokenHasScope]
    required_scopes = ["read"]

    def get(self, request):
        user = request.user.username if request.user else None
        return Response({"user": user, "scope": request.auth.scope})

    def post(self, request):
        return Response({"length": len(request.data["text"])})


class Write(Read):
    required_scopes = ["write"]


@csrf_exempt
def make_client(request):
    """A client of its own, and a user of its own, for one test."""
    wanted = json.loads(request.body or "{}")
    secret = wanted.get("client_secret", secrets.token_urlsafe(24))
    password = wanted.get("password", secrets.token_urlsafe(12))
    user = get_user_model().objects.create_user(wanted.get("user", f"user-{secrets.token_hex(6)}"), password=password)
    client = Application.objects.create(
        client_id=wanted.get("client_id", f"client-{secrets.token_hex(8)}"),
        client_secret=secret,
        client_type=wanted.get("client_type", "confidential"),
        authorization_grant_type=wanted.get("grant", "password"),
        user=user,
    )
    return JsonResponse(
        {"client_id": client.client_id, "client_secret": secret, "user": user.username, "password": password}
    )


@csrf_exempt
def revoke_client(request):
    """Deletes a client with all that it was given."""
    count, _ = Application.objects.filter(client_id=json.loads(request.body)["client_id"]).delete()
    return JsonResponse({"deleted": count})


@csrf_exempt
def expire_tokens(request):
    """Ends the access tokens of a client; its refresh tokens stay."""
    client = json.loads(request.body)["client_id"]
    past = timezone.now() - timedelta(seconds=1)
    count = AccessToken.objects.filter(application__client_id=client).update(expires=past)
    return JsonResponse({"expired": count})


def count_tokens(request):
    """How many refresh tokens a client was given, the revoked ones included; how many are good; how many access tokens."""
    client = request.GET["client_id"]
    refresh = RefreshToken.objects.filter(application__client_id=client)
    return JsonResponse(
        {
            "refresh": refresh.count(),
            "good": refresh.filter(revoked=None).count(),
            "access": AccessToken.objects.filter(application__client_id=client).count(),
        }
    )


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("api/read", Read.as_view()),
    path("api/write", Write.as_view()),
    path("control/client", make_client),
    path("control/revoke-client", revoke_client),
    path("control/expire", expire_tokens),
    path("control/tokens", count_tokens),
]


def main():
    call_command("migrate", verbosity=0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server = create_server(get_wsgi_application(), host="127.0.0.1", port=0, threads=8)
    print(f"http://127.0.0.1:{server.effective_port}", flush=True)
    try:
        server.run()
    finally:
        directory.cleanup()


if __name__ == "__main__":
    sys.exit(main())
