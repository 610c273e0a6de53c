"""Fields of JSON that are lists, as the document of the API shows them."""

from rest_framework import serializers


class Numbers(serializers.ListField):
    child = serializers.IntegerField()


class Texts(serializers.ListField):
    child = serializers.CharField()
